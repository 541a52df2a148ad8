package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable

import org.pigeonsched.spark.link.ExecutorState

/** What the daemons said of the executors, for messages and decisions. Safe for any thread. */
private[spark] final class ExecutorBook {

  private val alive = mutable.LinkedHashMap[String, ExecutorState]()
  private var waitsFor = ""

  /** Notes a state. True if it is news: repetitions are not. */
  def note(state: ExecutorState): Boolean = synchronized {
    if (state.waiting) {
      val fresh = state.reason != waitsFor
      waitsFor = state.reason
      fresh
    } else if (state.exited) alive.remove(state.id).isDefined
    else {
      waitsFor = ""
      !alive.put(state.id, state).exists(_.state == state.state)
    }
  }

  def aliveIds: Set[String] = synchronized(alive.keySet.toSet)

  /** For people. */
  def summary: String = synchronized {
    val running = alive.valuesIterator.count(_.state == "running")
    val waits = if (waitsFor.isEmpty) "" else s"; another one waits: $waitsFor"
    s"$running executors run, ${alive.size - running} start$waits"
  }
}
