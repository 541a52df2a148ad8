package org.pigeonsched.spark.classes

import scala.collection.mutable

/**
 * From when the time of a task counts as the time of its work.
 *
 * The first tasks of an executor load code, start Python's workers and fetch what is broadcast: a
 * second on an idle machine, several on a busy one. Taken for work, that would make a long stage of
 * the first query of every application, and have it wait behind the long jobs of all others. So
 * until a task of an executor has run to its end, the first seconds of its tasks do not count.
 *
 * Not synchronised: the task scheduler's lock guards it.
 */
final class WarmUp {

  private val warm = mutable.HashSet[String]()

  /** now: nanoseconds of a monotonic clock. */
  def since(executor: String, now: Long): Long = if (warm(executor)) now else now + WarmUp.Nanos

  /** One of its tasks has ended well. */
  def done(executor: String): Unit = warm += executor

  /** It is gone, and none of its number comes again. */
  def lost(executor: String): Unit = warm -= executor
}

object WarmUp {
  val Nanos: Long = 5L * 1000 * 1000 * 1000
}
