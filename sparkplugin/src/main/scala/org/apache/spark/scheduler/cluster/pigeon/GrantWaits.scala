package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable

import org.pigeonsched.spark.grants.Levels.LevelState

/**
 * How long each level has wanted a grant without receiving one.
 *
 * Used only under the task scheduler's lock.
 */
private[spark] final class GrantWaits {

  private val since = mutable.HashMap[String, Long]()
  private var warnedAt: Option[Long] = None

  /**
   * A grant of this level arrived; returns how long the level had waited for it, in nanoseconds.
   */
  def arrived(level: String, now: Long): Option[Long] = since.put(level, now).map(now - _)

  /** Sets the present demand. */
  def wanted(levels: Seq[LevelState], now: Long): Unit = {
    val waiting = levels.filter(_.outstanding > 0).map(_.description.name)
    since.keys.toList.filterNot(waiting.toSet).foreach(since.remove)
    waiting.foreach(name => since.getOrElseUpdate(name, now))
  }

  /**
   * Returns the levels that have waited too long, with their seconds; none again before that
   * much time has passed.
   */
  def tooLong(now: Long): Seq[(String, Long)] = {
    val late =
      since.toList.map { case (name, at) => name -> (now - at) }.filter(_._2 > GrantWaits.LongNanos)
    if (late.isEmpty || warnedAt.exists(now - _ < GrantWaits.LongNanos)) Nil
    else {
      warnedAt = Some(now)
      late.sorted.map { case (name, nanos) => name -> nanos / 1000000000L }
    }
  }
}

private[spark] object GrantWaits {

  /** As long as Spark itself waits before it warns that a job has no resources. */
  val LongNanos: Long = 15L * 1000 * 1000 * 1000
}
