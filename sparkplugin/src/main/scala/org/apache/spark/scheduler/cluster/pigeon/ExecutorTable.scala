package org.apache.spark.scheduler.cluster.pigeon

import java.util.{LinkedHashMap => LruMap, Map => JavaMap}

import scala.collection.mutable

import org.pigeonsched.spark.link.{ExecutorState, Wanted}

/**
 * The states of the executors as the daemons report them, for log messages and decisions. Safe for
 * use by any thread.
 */
private[spark] final class ExecutorTable {

  private val alive = mutable.LinkedHashMap[String, ExecutorState]()
  // How those that are alive no more went: true where the daemons reported the end. Reports are
  // repeated only for a while, so the oldest are forgotten.
  private val gone = new LruMap[String, Boolean] {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Boolean]): Boolean =
      size > ExecutorTable.MostGone
  }
  private var waitingReason = ""

  /**
   * Stores a state. Returns true if it is new: repetitions are not. The end of an executor is new
   * once, also if nothing was reported of it before.
   */
  def update(state: ExecutorState): Boolean = synchronized {
    if (state.waiting) {
      val fresh = state.reason != waitingReason
      waitingReason = state.reason
      fresh
    } else if (state.exited) {
      alive.remove(state.id)
      !gone.put(state.id, true)
    } else if (gone.containsKey(state.id)) false
    else {
      waitingReason = ""
      !alive.put(state.id, state).exists(_.state == state.state)
    }
  }

  /**
   * The connection to this executor broke, and no exit was reported in time: it counts as alive no
   * more. Returns false if its exit was reported.
   */
  def lose(id: String): Boolean = synchronized {
    alive.remove(id)
    !gone.putIfAbsent(id, false)
  }

  /** How many executors it remembers that are alive no more. */
  def remembered: Int = synchronized(gone.size)

  def aliveIds: Set[String] = synchronized(alive.keySet.toSet)

  /** Returns a summary for users. */
  def summary(connected: String => Boolean): String = synchronized {
    val running = alive.valuesIterator.count(_.state == "running")
    val silent = alive.valuesIterator.count(e => e.state == "running" && !connected(e.id))
    val yet = if (silent == 0) "" else s" ($silent not yet connected to this driver)"
    val waits = if (waitingReason.isEmpty) "" else s"; another one waits: $waitingReason"
    s"$running executors run$yet, ${alive.size - running} start$waits"
  }
}

private[spark] object ExecutorTable {

  /** As many as an application may have at a time. */
  val MostGone: Int = Wanted.MaxExecutors
}
