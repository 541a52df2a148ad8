"""The long job: more tasks of some seconds than the cluster has slots."""

import time

from pyspark import SparkContext

TASKS = 32
SECONDS = 4

sc = SparkContext(appName="long job")
done = sc.parallelize(range(TASKS), TASKS).map(lambda i: time.sleep(SECONDS) or 1).sum()
assert done == TASKS, done
sc.stop()
