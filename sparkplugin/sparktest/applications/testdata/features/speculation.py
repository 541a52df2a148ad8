"""A task that hangs at its first attempt: another attempt of it, elsewhere, ends the job."""

import time

from pyspark import SparkContext, TaskContext

HANGS = 600  # seconds
sc = SparkContext(appName="speculation")


def work(i):
    if i == 3 and TaskContext.get().attemptNumber() == 0:
        time.sleep(HANGS)
    time.sleep(0.2)
    return i, TaskContext.get().attemptNumber()


began = time.monotonic()
print("= done", sc.parallelize(range(8), 8).map(work).collect())
assert time.monotonic() - began < HANGS / 2
print("= after", sc.parallelize(range(40), 8).map(lambda i: (i % 3, i)).groupByKey().mapValues(sum).sortByKey().collect())
sc.stop()
