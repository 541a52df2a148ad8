"""Streams: files with foreachBatch and a state, then a rate source into memory until it is stopped."""

import json
import os
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

spark = SparkSession.builder.appName("stream").getOrCreate()
here = os.getcwd()
os.mkdir("in")
for n in range(4):
    with open(f"in/{n}.json.tmp", "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"shop": i % 5, "price": i * (n + 1)}) + "\n" for i in range(200))
    os.rename(f"in/{n}.json.tmp", f"in/{n}.json")

batches, last = [], {}


def note(frame, number):
    batches.append(number)
    last.clear()
    last.update((row.shop, row.sold) for row in frame.collect())


files = spark.readStream.schema("shop long, price long").option("maxFilesPerTrigger", 1).json(f"{here}/in")
query = (files.groupBy("shop").agg(f.sum("price").alias("sold")).writeStream.outputMode("complete")
         .option("checkpointLocation", f"{here}/checkpoint").foreachBatch(note).trigger(availableNow=True).start())
query.awaitTermination()
print("= files", len(batches), sorted(last.items()))

rates = spark.readStream.format("rate").option("rowsPerSecond", 50).option("numPartitions", 3).load()
query = rates.writeStream.format("memory").queryName("rates").trigger(processingTime="500 milliseconds").start()
deadline = time.monotonic() + 120
while spark.table("rates").count() < 60 and time.monotonic() < deadline:
    time.sleep(0.2)
query.stop()
rows, distinct = spark.sql("select count(*), count(distinct value) from rates").first()
print("= rates", rows >= 60, rows == distinct, query.exception() is None, not query.isActive)
spark.stop()
