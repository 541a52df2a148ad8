"""Executors that the driver kills and asks for by itself."""

import time

from pyspark import SparkContext

sc = SparkContext(appName="request")
spark = sc._jsc.sc()
PATIENCE = 90  # seconds, on a loaded machine


def executors():
    ids = spark.getExecutorIds()
    return {ids.apply(i) for i in range(ids.size())}


def until(what, holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"not {what}: {executors()}"
        time.sleep(0.1)


def total():
    return sc.parallelize(range(100), 8).map(lambda i: (i % 3, i)).reduceByKey(lambda a, b: a + b).values().sum()


until("two", lambda: len(executors()) == 2)
print("= two", total())
killed = min(executors())
assert spark.killExecutor(killed)
until("one", lambda: len(executors()) == 1)
print("= one", total(), killed not in executors())
assert spark.requestExecutors(1)
until("two again", lambda: len(executors()) == 2)
print("= two again", total(), killed not in executors())
sc.stop()
