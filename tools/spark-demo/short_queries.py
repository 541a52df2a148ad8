"""A person at a dashboard: a short SQL query, a look at the answer, the next query."""

import time

from pyspark.sql import SparkSession

QUERIES = 12
PAUSE = 0.5  # seconds

spark = SparkSession.builder.appName("short queries").config("spark.sql.shuffle.partitions", 4).getOrCreate()
spark.range(0, 20_000, 1, 4).selectExpr("id", "id % 7 as shop", "id % 100 as price").createOrReplaceTempView("sales")
for i in range(QUERIES):
    rows = spark.sql(f"select shop, sum(price) as sold from sales where id % {i + 2} = 0 group by shop").collect()
    expected = sum(n % 100 for n in range(0, 20_000, i + 2))
    assert sum(row.sold for row in rows) == expected, (i, rows)
    time.sleep(PAUSE)
spark.stop()
