package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.scheduler.{ExecutorExited, ExecutorLossReason, ExecutorProcessLost}

import org.pigeonsched.spark.link.ExecutorState

/** The end of an executor in Spark's words, which its listeners and its UI show. */
private[spark] object ExitReason {

  /** A status below 0: the process was lost with its node. */
  def of(state: ExecutorState): ExecutorLossReason =
    if (state.status < 0) new ExecutorProcessLost(state.reason, Some(state.host), false)
    else new ExecutorExited(state.status, true, s"Command exited with code ${state.status}")

  def lost: ExecutorLossReason =
    new ExecutorProcessLost("The connection to the executor broke and its node reported no exit", None, false)
}
