"""Adds the numbers below the first argument, in twenty tasks with a shuffle."""

import sys

from pyspark.sql import SparkSession

n = int(sys.argv[1])
spark = SparkSession.builder.appName("sum").getOrCreate()
pairs = spark.sparkContext.parallelize(range(n), 20).map(lambda x: (x % 3, x))
print(sum(v for _, v in pairs.reduceByKey(lambda a, b: a + b, 4).collect()))
spark.stop()
