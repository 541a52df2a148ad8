// A job whose two stages must run at the same time: Spark 4.3 has such stages.
import org.apache.spark.{HashPartitioner, Partition, PipelinedShuffleDependency, TaskContext}
import org.apache.spark.rdd.RDD

class Piped(prev: RDD[(Int, Int)], parts: HashPartitioner)
  extends RDD[(Int, Int)](prev.sparkContext, Seq(new PipelinedShuffleDependency[Int, Int, Int](prev, parts))) {
  class Part(val index: Int) extends Partition
  override def getPartitions: Array[Partition] = Array.tabulate(parts.numPartitions)(new Part(_))
  override def compute(p: Partition, c: TaskContext): Iterator[(Int, Int)] = Iterator.empty
}

try new Piped(sc.parallelize(1 to 8, 2).map(i => i -> i), new HashPartitioner(2)).count()
catch { case e: Throwable => println(e.getMessage); System.exit(1) }
System.exit(0)
