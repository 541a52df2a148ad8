package org.apache.spark.scheduler.cluster.pigeon

import org.pigeonsched.spark.grants.Levels.LevelState
import org.pigeonsched.spark.link.Wanted

/**
 * All that the application wants, combined from the components that know a part of it. Each change
 * returns the whole. No other lock is taken, and no callback made, while its lock is held.
 */
private[spark] final class WantedState(firstExecutors: Int) {

  private var state = Wanted(firstExecutors, Nil, Nil)

  def current: Wanted = synchronized(state)

  def executors: Int = current.executors

  def setExecutors(executors: Int): Wanted = change(_.copy(executors = executors))

  /** The executors stay listed until they have ended, because one message may be lost. */
  def stopExecutors(ids: Seq[String]): Wanted = change(s => s.copy(stop = (s.stop ++ ids).distinct))

  /** An executor of this number exists or existed. */
  def executorSeen(id: Int): Wanted = change(s => s.copy(last = math.max(s.last, id)))

  /** The executor has ended. Reports whether it was to be stopped. */
  def executorGone(id: String): Boolean = synchronized {
    val stopped = state.stop.contains(id)
    change(s => s.copy(stop = s.stop.filterNot(_ == id)))
    stopped
  }

  def setLevels(states: Seq[LevelState]): Wanted = change(_.copy(levels = states))

  private def change(f: Wanted => Wanted): Wanted = synchronized {
    state = f(state)
    state
  }
}
