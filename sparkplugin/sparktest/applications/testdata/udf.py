"""Python in the executors: a UDF, mapInPandas and a pandas UDF where there is pandas, an RDD of objects."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, sum as total, udf
from pyspark.sql.types import LongType

spark = SparkSession.builder.appName("udf").getOrCreate()


@udf(LongType())
def collatz(n):
    """Steps until n becomes 1."""
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


numbers = spark.range(1, 4_000, 1, 6)
print("= udf", numbers.select(collatz(col("id")).alias("s")).agg(total("s")).first()[0])


class Money:
    def __init__(self, cents):
        self.cents = cents

    def __add__(self, other):
        return Money(self.cents + other.cents)


print("= objects", numbers.rdd.map(lambda row: (row.id % 4, Money(row.id))).reduceByKey(lambda a, b: a + b, 3)
      .mapValues(lambda m: m.cents).sortByKey().collect())

try:
    import pandas
    import pyarrow  # noqa: F401 (Spark needs it)
except ImportError:
    print("without pandas")
else:
    from pyspark.sql.functions import pandas_udf

    @pandas_udf("long")
    def squared(v: pandas.Series) -> pandas.Series:
        return v * v

    def evens(frames):
        for frame in frames:
            yield frame[frame["id"] % 2 == 0]

    print("= pandas udf", numbers.select(squared("id").alias("q")).agg(total("q")).first()[0])
    print("= mapInPandas", numbers.mapInPandas(evens, "id long").count())
    print("= applyInPandas", sorted(
        tuple(row) for row in numbers.selectExpr("id % 3 as k", "id").groupBy("k")
        .applyInPandas(lambda frame: frame.groupby("k", as_index=False).sum(), "k long, id long").collect()))
    print("with pandas", pandas.__version__)
spark.stop()
