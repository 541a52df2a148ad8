"""Sleeping tasks, which tell when they ran.

    spans.py TASKS SECONDS
"""

import json
import sys
import time

from pyspark import SparkContext

tasks, seconds = int(sys.argv[1]), float(sys.argv[2])
sc = SparkContext(appName="spans")


def sleep(_):
    began = time.time()
    time.sleep(seconds)
    return began, time.time()


print("= spans", json.dumps(sc.parallelize(range(tasks), tasks).map(sleep).collect()))
sc.stop()
