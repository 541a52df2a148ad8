"""DataFrames: windows, pivots, joins of every strategy, a cache, files written and read again."""

import os

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f

spark = SparkSession.builder.appName("dataframe").getOrCreate()
sales = spark.range(0, 30_000, 1, 6).select(
    "id", (f.col("id") * 7919 % 97).alias("shop"), (f.col("id") % 12 + 1).alias("month"), (f.col("id") * 31 % 1000).alias("price"))
shops = spark.range(0, 97, 1, 2).select(f.col("id").alias("shop"), f.concat(f.lit("shop "), "id").alias("name"))


def show(name, frame):
    for row in frame.collect():
        print("=", name, *row)


best = Window.partitionBy("month").orderBy(f.desc("price"), "id")
show("window", sales.withColumn("rank", f.row_number().over(best)).where("rank <= 1").orderBy("month"))
show("pivot", sales.where("shop < 3").groupBy("shop").pivot("month", [1, 2, 3]).sum("price").orderBy("shop"))
for how in "broadcast", "merge", "shuffle_hash":
    joined = sales.join(shops.hint(how), "shop").groupBy("name").agg(f.sum("price").alias("sold"))
    show(how, joined.orderBy(f.desc("sold"), "name").limit(2))

path = os.path.abspath("sales")
sales.repartition(5, "month").write.partitionBy("month").parquet(path)
again = spark.read.parquet(path).where("month in (3, 4)").cache()
show("files", again.agg(f.count("*"), f.sum("price"), f.countDistinct("shop")))
show("cached", again.groupBy("month").count().orderBy("month"))
show("skew", sales.withColumn("k", f.when(f.col("id") < 25_000, 0).otherwise(f.col("id") % 5)).groupBy("k").count().orderBy("k"))
spark.stop()
