package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable

import org.pigeonsched.spark.link.ExecutorState

/**
 * The states of the executors as the daemons report them, for log messages and decisions. Safe for
 * use by any thread.
 */
private[spark] final class ExecutorTable {

  private val alive = mutable.LinkedHashMap[String, ExecutorState]()
  private var waitingReason = ""

  /** Stores a state. Returns true if it is new: repetitions are not. */
  def update(state: ExecutorState): Boolean = synchronized {
    if (state.waiting) {
      val fresh = state.reason != waitingReason
      waitingReason = state.reason
      fresh
    } else if (state.exited) alive.remove(state.id).isDefined
    else {
      waitingReason = ""
      !alive.put(state.id, state).exists(_.state == state.state)
    }
  }

  def aliveIds: Set[String] = synchronized(alive.keySet.toSet)

  /** Returns a summary for users. */
  def summary: String = synchronized {
    val running = alive.valuesIterator.count(_.state == "running")
    val waits = if (waitingReason.isEmpty) "" else s"; another one waits: $waitingReason"
    s"$running executors run, ${alive.size - running} start$waits"
  }
}
