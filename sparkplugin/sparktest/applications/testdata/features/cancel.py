"""A job group that is cancelled while its tasks run: they end, their slots serve the next job."""

import time

from pyspark import InheritableThread, SparkContext

HANGS = 600  # seconds
sc = SparkContext(appName="cancel")
said = []


def hang():
    sc.setJobGroup("doomed", "cancelled by the test", interruptOnCancel=True)
    try:
        sc.parallelize(range(12), 12).foreach(lambda _: time.sleep(HANGS))
    except Exception as e:  # py4j's, or one that PySpark makes of it
        said.append("cancelled" in str(e))


thread = InheritableThread(target=hang)
thread.start()
tracker, began = sc.statusTracker(), time.monotonic()
while not any(s.numActiveTasks >= 4 for s in map(tracker.getStageInfo, tracker.getActiveStageIds()) if s):
    assert time.monotonic() - began < 120, "not all slots were taken"
    time.sleep(0.05)
sc.cancelJobGroup("doomed")
thread.join(HANGS / 4)
print("= cancelled", said, thread.is_alive())
print("= next", sc.parallelize(range(400), 16).map(lambda i: (i % 4, i)).reduceByKey(lambda a, b: a + b).sortByKey().collect())
sc.stop()
