package org.apache.spark.scheduler.cluster.pigeon

import java.nio.ByteBuffer

import org.apache.spark.TaskState
import org.apache.spark.scheduler.{TaskSchedulerImpl, TaskSet, WorkerOffer}
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.StatusUpdate
import org.apache.spark.util.SerializableBuffer

/** What differs between the lines of Spark: here for 4.3, which counts decimals of processors. */
private[spark] object SparkShim {

  /** Whether spark.task.cpus may be a decimal. */
  val decimalCpus = true

  /** Whether the tasks of this stage must run at the same time as those of other stages. */
  def isPipelined(taskSet: TaskSet): Boolean = taskSet.isPipelined

  /** Returns the offer with the cores of so many tasks at most, of those that used tasks left. */
  def offerFor(s: TaskSchedulerImpl, o: WorkerOffer, tasks: Int, used: Int): WorkerOffer =
    o.copy(cores = (o.cores - s.CPUS_PER_TASK * used).min(s.CPUS_PER_TASK * tasks))

  /** The end of a task that does not exist and held no core: Spark then offers this executor. */
  def noTaskEnded(executor: String): StatusUpdate = new StatusUpdate(
    executor,
    -1L,
    TaskState.FINISHED,
    new SerializableBuffer(ByteBuffer.allocate(0)),
    BigDecimal(0),
    Map.empty)
}
