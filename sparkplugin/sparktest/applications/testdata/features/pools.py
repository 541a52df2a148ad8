"""A long job, and a short one submitted later from another thread. Which of them ends first?"""

import threading
import time

from pyspark import InheritableThread, SparkContext

sc = SparkContext(appName="pools")
began, ended = threading.Event(), []


def run(pool, tasks):
    sc.setLocalProperty("spark.scheduler.pool", pool)
    if pool == "short":
        began.wait()
    done = sc.parallelize(range(tasks), tasks).map(lambda i: time.sleep(0.3) or 1).sum()
    ended.append((pool, done))


threads = [InheritableThread(target=run, args=a) for a in (("long", 40), ("short", 8))]
for t in threads:
    t.start()
tracker = sc.statusTracker()
while not any(s.numActiveTasks for s in map(tracker.getStageInfo, tracker.getActiveStageIds()) if s):
    time.sleep(0.05)
began.set()
for t in threads:
    t.join()
print("= ended", *ended)
sc.stop()
