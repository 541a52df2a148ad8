"""A barrier stage: all of its tasks run at the same time and hear of each other."""

from pyspark import BarrierTaskContext, SparkContext

sc = SparkContext(appName="barrier")


def meet(rows):
    context = BarrierTaskContext.get()
    heard = context.allGather(str(sum(rows)))
    context.barrier()
    yield len(context.getTaskInfos()), sum(map(int, heard))


print("= met", sc.parallelize(range(100), 4).barrier().mapPartitions(meet).collect())
sc.stop()
