"""A PySpark job: rounds of a Python function over the rows of a DataFrame."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, sum as total, udf
from pyspark.sql.types import LongType

ROUNDS = 4
ROWS = 10_000


@udf(LongType())
def collatz(n):
    """Steps until n becomes 1."""
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


spark = SparkSession.builder.appName("PySpark job").config("spark.sql.shuffle.partitions", 4).getOrCreate()
answers = {
    spark.range(1, ROWS, 1, 8).select(collatz(col("id")).alias("steps")).agg(total("steps")).first()[0]
    for _ in range(ROUNDS)
}
assert len(answers) == 1 and answers.pop() > ROWS, answers
spark.stop()
