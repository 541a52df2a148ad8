package org.pigeonsched.spark.classes

import scala.collection.mutable

/**
 * The instant from which the time of a task counts as the time of its work.
 *
 * The first tasks of an executor load code, start Python's workers and fetch broadcast variables: a
 * second on an idle machine, several on a busy one. If that counted as work, the first query of
 * every application would have a long stage, which would wait behind the long jobs of all other
 * applications. So until a task of an executor has run to its end, the first seconds of its tasks
 * do not count.
 *
 * Not synchronised: the task scheduler's lock guards it.
 */
final class WarmUp {

  private val warm = mutable.HashSet[String]()

  /** now: nanoseconds of a monotonic clock. */
  def since(executor: String, now: Long): Long = if (warm(executor)) now else now + WarmUp.Nanos

  /** A task of the executor has ended successfully. */
  def done(executor: String): Unit = warm += executor

  /** The executor has ended; its number is never used again. */
  def lost(executor: String): Unit = warm -= executor
}

object WarmUp {
  val Nanos: Long = 5L * 1000 * 1000 * 1000
}
