"""Squares numbers, adds them by key, and collects results too large to be sent
with the end of a task: three stages, of which one takes its time.

    phases.py FLAGS SLOW

A task leaves a file STAGE-PARTITION-ATTEMPT in the folder FLAGS when it has begun
and when its stage is SLOW (map, reduce or fetch), and then takes half a second. So
that who watches the folder knows which stage runs. Prints the sum.
"""

import os
import sys
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession

flags, slow = sys.argv[1:]
PIECE = 1 << 20  # bytes of one result, far above spark.task.maxDirectResultSize


def dwell(stage):
    if stage == slow:
        task = TaskContext.get()
        open(os.path.join(flags, f"{stage}-{task.partitionId()}-{task.attemptNumber()}"), "w").close()
        time.sleep(0.5)


def squares(numbers):
    dwell("map")
    return ((n % 24, n * n) for n in numbers)


def added(pairs):
    dwell("reduce")
    return iter(pairs)


def large(pairs):
    dwell("fetch")
    return [(value, bytes([key]) * PIECE) for key, value in pairs]


spark = SparkSession.builder.appName("phases-" + slow).getOrCreate()
numbers = spark.sparkContext.parallelize(range(2400), 24)
sums = numbers.mapPartitions(squares).reduceByKey(lambda a, b: a + b, 24).mapPartitions(added).cache()
keys = sums.count()
total = 0
for value, piece in sums.mapPartitions(large).collect():
    if len(piece) != PIECE or len(set(piece)) != 1:
        sys.exit("a result is damaged")
    total += value
print(keys, total)
spark.stop()
