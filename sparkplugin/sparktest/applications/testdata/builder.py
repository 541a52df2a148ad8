"""A program that no spark-submit starts: the session names its master and the plugin's jar itself.

    builder.py MASTER JAR
"""

import sys

from pyspark.sql import SparkSession

spark = (SparkSession.builder.appName("builder").master(sys.argv[1]).config("spark.jars", sys.argv[2])
         .config("spark.executor.memory", "512m").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", 4)
         .getOrCreate())
spark.range(0, 9_000, 1, 6).createOrReplaceTempView("numbers")
for row in spark.sql("select id % 7 as k, sum(id) from numbers group by 1 order by 1").collect():
    print("=", *row)
print("= python", spark.sparkContext.parallelize(range(100), 5).map(lambda i: (i % 3, i)).reduceByKey(max).sortByKey().collect())
spark.stop()
