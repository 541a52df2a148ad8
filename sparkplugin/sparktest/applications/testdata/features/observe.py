"""What a driver's page shows of its executors: log links that answer, and the metrics of the plugin."""

import json
import time
import urllib.request

from pyspark import SparkContext

sc = SparkContext(appName="observe")
print("= sum", sc.parallelize(range(1_000), 12).map(lambda i: (i % 5, i)).reduceByKey(lambda a, b: a + b).values().sum())


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.status, answer.read().decode(errors="replace")


page = sc.uiWebUrl
api = f"{page}/api/v1/applications/{sc.applicationId}/executors"
deadline = time.monotonic() + 60
while True:
    executors = [e for e in json.loads(get(api)[1]) if e["id"] != "driver"]
    if len(executors) == 2 and sum(e["completedTasks"] for e in executors) == 24 or time.monotonic() > deadline:
        break
    time.sleep(0.2)
print("= executors", len(executors), len({e["hostPort"].split(":")[0] for e in executors}))
for e in sorted(executors, key=lambda e: e["id"]):
    for name, url in sorted(e["executorLogs"].items()):
        status, text = get(url)
        print("= log", name, status, "executor" in text.lower() if name == "stderr" else "")
print("= page", get(page + "/executors/")[0])
metrics, prefix = json.loads(get(page + "/metrics/json/")[1]), f"{sc.applicationId}.driver.pigeon."
mine = {k.removeprefix(prefix): v for kind in ("gauges", "counters", "histograms") for k, v in metrics[kind].items() if k.startswith(prefix)}
print("= metrics", json.dumps({k: v.get("count", v.get("value")) for k, v in sorted(mine.items())}))
sc.stop()
