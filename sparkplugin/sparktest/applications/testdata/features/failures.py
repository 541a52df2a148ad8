"""An application that goes wrong: by a task that always fails, by one that fails at first, by its own exit status.

    failures.py always | once | status
"""

import sys

from pyspark import SparkContext, TaskContext

how = sys.argv[1]  # here: a task's own arguments are others
sc = SparkContext(appName="failures")


def work(i):
    attempt = TaskContext.get().attemptNumber()
    if i == 2 and (how == "always" or how == "once" and attempt == 0):
        raise ValueError(f"attempt {attempt} went wrong")
    return i


print("= sum", sc.parallelize(range(8), 8).map(work).sum())
sc.stop()
if how == "status":
    sys.exit(7)
