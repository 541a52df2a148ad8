# Typed into the shell of PySpark, line by line.
pairs = sc.parallelize(range(5000), 6).map(lambda i: (i % 9, i)).reduceByKey(max, 3)
print("= typed", sorted(pairs.collect()))
print("= frame", spark.range(0, 5000, 1, 5).selectExpr("id % 10 as k").groupBy("k").count().orderBy("k").first())
