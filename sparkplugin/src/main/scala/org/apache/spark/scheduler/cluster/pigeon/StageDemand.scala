package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.scheduler.TaskSetManager

/** How many tasks of a task set could start now, if there were slots. */
private[spark] object StageDemand {

  /** Up to here tasks are counted one by one; beyond it the difference of sums is near enough. */
  val Counted = 64

  /**
   * Tasks without a running copy, and speculative copies that some host may run.
   *
   * numTasks - tasksSuccessful - runningTasks is too high while results are fetched: the task runs
   * no more and is not yet successful. Grants asked for such tasks come back unused.
   *
   * @param hosts that have an executor
   */
  def of(m: TaskSetManager, hosts: Iterable[String]): Int =
    if (m.isZombie) 0 else first(m) + speculative(m, hosts)

  private def first(m: TaskSetManager): Int = {
    val upper = math.max(0, m.numTasks - m.tasksSuccessful - m.runningTasks)
    if (upper > Counted) upper
    else (0 until m.numTasks).count(i => m.copiesRunning(i) == 0 && !m.successful(i))
  }

  // Spark puts no second copy on a host that had the first: without another host nobody can take it.
  private def speculative(m: TaskSetManager, hosts: Iterable[String]): Int =
    m.speculatableTasks.count { i =>
      m.copiesRunning(i) == 1 && !m.successful(i) && hosts.exists(h => !m.taskAttempts(i).exists(_.host == h))
    }
}
