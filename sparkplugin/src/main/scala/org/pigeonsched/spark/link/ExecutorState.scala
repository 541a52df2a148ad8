package org.pigeonsched.spark.link

import org.pigeonsched.thrift.application.TExecutorState

/**
 * The state of an executor as the daemons report it.
 *
 * @param id     a decimal number, never used twice in an application; empty while state is waiting
 * @param state  starting, running, exited or waiting
 * @param status exit status, if exited
 * @param last   no other executor will ever be started in its place
 */
final case class ExecutorState(
    id: String,
    node: String,
    host: String,
    state: String,
    status: Int,
    reason: String,
    last: Boolean) {
  def exited: Boolean = state == "exited"
  def waiting: Boolean = state == "waiting"
}

object ExecutorState {
  def of(t: TExecutorState): ExecutorState =
    ExecutorState(
      text(t.getId),
      text(t.getNode),
      text(t.getHost),
      text(t.getState),
      t.getExitStatus,
      text(t.getReason),
      t.isLast)

  private def text(s: String): String = if (s == null) "" else s
}
