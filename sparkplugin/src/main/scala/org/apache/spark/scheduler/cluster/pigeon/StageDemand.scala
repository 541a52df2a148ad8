package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable

import org.apache.spark.scheduler.TaskSetManager

/**
 * How many tasks of a task set could start now, if there were slots.
 *
 * Used under the task scheduler's lock alone.
 */
private[spark] final class StageDemand {
  import StageDemand._

  // Tasks that ran to their end, and whose results Spark still fetches: they run no more and are not
  // yet successful, so that sums take them for tasks that wait. By index.
  private val fetching = mutable.HashSet[Int]()

  /** An executor said that a copy of the task has finished. */
  def finished(index: Int): Unit = fetching += index

  /**
   * Tasks without a running copy, and speculative copies that some host may run.
   *
   * @param hosts that have an executor
   */
  def of(m: TaskSetManager, hosts: Iterable[String]): Int =
    if (m.isZombie) 0 else first(m) + speculative(m, hosts)

  private def first(m: TaskSetManager): Int = {
    fetching --= fetching.filter(i => m.successful(i) || m.copiesRunning(i) == 0)
    val sum = m.numTasks - m.tasksSuccessful - m.runningTasks - fetching.size
    // Second copies make the sum too low; where that matters tasks are looked at one by one.
    if (sum > Counted) sum else (0 until m.numTasks).count(i => m.copiesRunning(i) == 0 && !m.successful(i))
  }

  // Spark puts no second copy on a host that had the first: without another host nobody can take it.
  private def speculative(m: TaskSetManager, hosts: Iterable[String]): Int =
    m.speculatableTasks.count { i =>
      m.copiesRunning(i) == 1 && !m.successful(i) && hosts.exists(h => !m.taskAttempts(i).exists(_.host == h))
    }
}

private[spark] object StageDemand {
  /** Up to here tasks are counted one by one; beyond it the difference of sums is near enough. */
  val Counted = 64
}
