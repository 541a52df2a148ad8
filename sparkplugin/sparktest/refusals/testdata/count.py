"""Counts in four tasks. With an argument it first sets the class of its stages, or waits
until a file of that name is there.

    count.py [class=NAME | until=FILE]
"""

import os
import sys
import time

from pyspark.sql import SparkSession

key, _, value = (sys.argv[1:] or [""])[0].partition("=")
spark = SparkSession.builder.appName("count").getOrCreate()
if key == "class":
    spark.sparkContext.setLocalProperty("spark.pigeon.class", value)
print(spark.sparkContext.parallelize(range(100), 4).count(), flush=True)
while key == "until" and not os.path.exists(value):
    time.sleep(0.1)
spark.stop()
