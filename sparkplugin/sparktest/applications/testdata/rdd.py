"""RDDs with shuffles: count, join, sort, aggregate, a broadcast and an accumulator."""

from operator import add

from pyspark import SparkContext

sc = SparkContext(appName="rdd")
words = sc.parallelize([f"w{i * 7919 % 101}" for i in range(20_000)], 8)
counts = words.map(lambda w: (w, 1)).reduceByKey(add, 6)
print("= words", counts.count(), sorted(counts.collect())[:3])

squares = sc.parallelize(range(300), 4).map(lambda i: (f"w{i % 101}", i * i))
joined = counts.join(squares, 5).mapValues(lambda both: both[0] + both[1])
print("= joined", joined.values().sum(), joined.count())

print("= sorted", counts.map(lambda p: ((p[1], p[0]), 1)).sortByKey(ascending=False, numPartitions=4).keys().take(3))

small, seen = sc.broadcast({i: i % 3 for i in range(100)}), sc.accumulator(0)
by_rest = sc.parallelize(range(1_000), 6).keyBy(lambda i: small.value[i % 100])
by_rest.foreach(lambda _: seen.add(1))
print("= groups", sorted((k, sum(v)) for k, v in by_rest.groupByKey(3).collect()), seen.value)

kept = counts.cache()
print("= cached", kept.count(), kept.values().max(), kept.values().sum())
sc.stop()
