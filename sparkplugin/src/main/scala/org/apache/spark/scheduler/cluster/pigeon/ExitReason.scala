package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.executor.ExecutorExitCode
import org.apache.spark.scheduler.{ExecutorExited, ExecutorLossReason, ExecutorProcessLost}

import org.pigeonsched.spark.link.ExecutorState

/** The end of an executor in Spark's terms, which its listeners and its UI show. */
private[spark] object ExitReason {

  // An executor exits with these when its disk or its network failed, which is no failure of its
  // tasks. The numbers are the same in all lines of Spark; BLOCK_MANAGER_REREGISTRATION_FAILED does
  // not exist in 3.5.
  private val NotTheTasks =
    Set(ExecutorExitCode.HEARTBEAT_FAILURE, ExecutorExitCode.DISK_STORE_FAILED_TO_CREATE_DIR, 58)

  /**
   * A status below 0: the executor did not cause its end, so the tasks that ran there have not
   * failed. No host is named: outputs of other executors on that host are not lost with this one.
   */
  def of(state: ExecutorState): ExecutorLossReason =
    if (state.status < 0) new ExecutorProcessLost(state.reason, None, false)
    else new ExecutorExited(
      state.status,
      !NotTheTasks(state.status),
      s"Command exited with code ${state.status}")

  def lost: ExecutorLossReason =
    new ExecutorProcessLost(
      "The connection to the executor broke and its node reported no exit",
      None,
      false)
}
