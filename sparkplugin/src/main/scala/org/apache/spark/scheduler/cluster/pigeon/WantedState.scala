package org.apache.spark.scheduler.cluster.pigeon

import org.pigeonsched.spark.grants.Levels.Told
import org.pigeonsched.spark.link.Wanted

/**
 * All that the application wants, put together from those who know a part of it. Each change answers
 * with the whole. Its lock is a leaf: nothing is called while it is held.
 */
private[spark] final class WantedState(firstExecutors: Int) {

  private var state = Wanted(firstExecutors, Nil, Nil)

  def current: Wanted = synchronized(state)

  def executors: Int = current.executors

  def total(executors: Int): Wanted = change(_.copy(executors = executors))

  /** They are named until they are gone: one telling may be lost. */
  def stop(ids: Seq[String]): Wanted = change(s => s.copy(stop = (s.stop ++ ids).distinct))

  /** There is, or was, an executor of this number. */
  def heard(id: Int): Wanted = change(s => s.copy(last = math.max(s.last, id)))

  def gone(id: String): Wanted = change(s => s.copy(stop = s.stop.filterNot(_ == id)))

  def levels(told: Seq[Told]): Wanted = change(_.copy(levels = told))

  private def change(f: Wanted => Wanted): Wanted = synchronized {
    state = f(state)
    state
  }
}
