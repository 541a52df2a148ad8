package org.apache.spark.scheduler.cluster.pigeon

import java.nio.ByteBuffer

import org.apache.spark.TaskState
import org.apache.spark.scheduler.{TaskSchedulerImpl, TaskSet, WorkerOffer}
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.StatusUpdate
import org.apache.spark.util.SerializableBuffer

/** What differs between the lines of Spark: here for 3.5 to 4.2, which count whole processors. */
private[spark] object SparkShim {

  /** Whether spark.task.cpus may be a decimal. */
  val decimalCpus = false

  /** Whether the tasks of this stage must run at the same time as those of other stages. */
  def isPipelined(taskSet: TaskSet): Boolean = false

  /** Returns the offer with the cores of so many tasks at most, of those that used tasks left. */
  def offerFor(s: TaskSchedulerImpl, o: WorkerOffer, tasks: Int, used: Int): WorkerOffer =
    o.copy(cores = math.min(o.cores - used * s.CPUS_PER_TASK, tasks * s.CPUS_PER_TASK))

  /** The end of a task that does not exist and held no core: Spark then offers this executor. */
  def noTaskEnded(executor: String): StatusUpdate = new StatusUpdate(
    executor,
    -1L,
    TaskState.FINISHED,
    new SerializableBuffer(ByteBuffer.allocate(0)),
    0,
    Map.empty)
}
