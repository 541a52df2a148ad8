"""Dynamic allocation: no executor before there is work, some for it, none after it, and again."""

import threading
import time

from pyspark import SparkContext

sc = SparkContext(appName="allocation")
PATIENCE = 90  # seconds, on a loaded machine


def executors():
    return sc._jsc.sc().getExecutorIds().size()


def until(count):
    deadline = time.monotonic() + PATIENCE
    while executors() != count:
        assert time.monotonic() < deadline, f"{executors()} executors, not {count}"
        time.sleep(0.1)


def work():
    """Tasks enough for all executors; gives the answer and the most executors seen meanwhile."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(
        sc.parallelize(range(24), 24).map(lambda i: time.sleep(0.5) or i).sum()))
    thread.start()
    most = 0
    while thread.is_alive():
        most = max(most, executors())
        time.sleep(0.05)
    return answers[0], most


print("= before", executors())
print("= work", *work())
until(0)
print("= after", executors())
print("= again", *work())
until(0)
sc.stop()
