"""A shuffle whose files the test takes away between two jobs that read it."""

import os
import time

from pyspark import SparkContext

sc = SparkContext(appName="fetch")
sums = sc.parallelize(range(4_000), 8).map(lambda i: (i % 50, i)).reduceByKey(lambda a, b: a + b, 6)
print("= before", sums.count(), sums.values().sum())
open("shuffled", "x").close()
deadline = time.monotonic() + 120
while not os.path.exists("taken"):
    assert time.monotonic() < deadline, "the test did not take anything"
    time.sleep(0.05)
print("= after", sums.count(), sums.values().sum())
sc.stop()
