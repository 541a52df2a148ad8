package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable

import org.apache.spark.scheduler.TaskSetManager

/**
 * The number of tasks of a task set that could start now if there were slots.
 *
 * Used only under the task scheduler's lock.
 */
private[spark] final class StageDemand {
  import StageDemand._

  // Tasks that ran to their end and whose results Spark is still fetching: they no longer run and
  // are not successful yet, so the sums would count them as waiting. By index.
  private val fetching = mutable.HashSet[Int]()

  /** An executor reported that a copy of the task has finished. */
  def finished(index: Int): Unit = fetching += index

  /**
   * Returns the number of tasks without a running copy, and of speculative copies that some host
   * may run.
   *
   * @param hosts that have an executor
   */
  def of(m: TaskSetManager, hosts: Iterable[String]): Int =
    if (m.isZombie) 0 else withoutCopy(m) + speculative(m, hosts)

  private def withoutCopy(m: TaskSetManager): Int = {
    fetching --= fetching.filter(i => m.successful(i) || m.copiesRunning(i) == 0)
    val sum = m.numTasks - m.tasksSuccessful - m.runningTasks - fetching.size
    // Second copies make the sum too low; where that matters, tasks are counted one by one.
    if (sum > MaxCounted) sum
    else (0 until m.numTasks).count(i => m.copiesRunning(i) == 0 && !m.successful(i))
  }

  // Spark places no second copy on a host that had the first: without another host it cannot run.
  private def speculative(m: TaskSetManager, hosts: Iterable[String]): Int =
    m.speculatableTasks.count { i =>
      m.copiesRunning(i) == 1 && !m.successful(i) && hosts.exists(h =>
        !m.taskAttempts(i).exists(_.host == h))
    }
}

private[spark] object StageDemand {

  /**
   * Up to this number tasks are counted one by one; beyond it the difference of sums is accurate
   * enough.
   */
  val MaxCounted = 64
}
