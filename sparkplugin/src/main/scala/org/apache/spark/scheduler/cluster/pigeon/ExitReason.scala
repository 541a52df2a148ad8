package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.executor.ExecutorExitCode
import org.apache.spark.scheduler.{ExecutorExited, ExecutorLossReason, ExecutorProcessLost}

import org.pigeonsched.spark.link.ExecutorState

/** The end of an executor in Spark's words, which its listeners and its UI show. */
private[spark] object ExitReason {

  // An executor ends itself with these when its disk or the network failed it: that is no failure of
  // the tasks it ran. The same numbers in all lines; BLOCK_MANAGER_REREGISTRATION_FAILED is not in 3.5.
  private val NotTheTasks = Set(ExecutorExitCode.HEARTBEAT_FAILURE, ExecutorExitCode.DISK_STORE_FAILED_TO_CREATE_DIR, 58)

  /**
   * A status below 0: the end was none of its own, and tasks that ran there have not failed by it.
   * No host is named: outputs of other executors on that host are not lost with this one.
   */
  def of(state: ExecutorState): ExecutorLossReason =
    if (state.status < 0) new ExecutorProcessLost(state.reason, None, false)
    else new ExecutorExited(state.status, !NotTheTasks(state.status), s"Command exited with code ${state.status}")

  def lost: ExecutorLossReason =
    new ExecutorProcessLost("The connection to the executor broke and its node reported no exit", None, false)
}
