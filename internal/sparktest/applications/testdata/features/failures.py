"""An application that goes wrong: by a task that always fails, by one that fails at first, by its own exit status.

    failures.py always | once | status
"""

import sys

from pyspark import SparkContext, TaskContext

sc = SparkContext(appName="failures")


def work(i):
    attempt = TaskContext.get().attemptNumber()
    if i == 2 and (sys.argv[1] == "always" or sys.argv[1] == "once" and attempt == 0):
        raise ValueError(f"attempt {attempt} went wrong")
    return i


print("= sum", sc.parallelize(range(8), 8).map(work).sum())
sc.stop()
if sys.argv[1] == "status":
    sys.exit(7)
