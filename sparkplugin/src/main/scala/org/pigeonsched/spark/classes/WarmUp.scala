package org.pigeonsched.spark.classes

import scala.collection.mutable

/**
 * Whether a task began on a cold executor, and the instant from which its time then counts as work.
 *
 * The first tasks of an executor load code, start Python's workers and fetch broadcast variables: a
 * second on an idle machine, many on a busy one. If that counted as work, the first query of every
 * application would have a long stage, which would wait behind the long jobs of all other
 * applications. So tasks that began before one of their executor had run to its end tell nothing
 * when they end; while they run they count only after an allowance, which is longer where the
 * executor itself took long to start.
 *
 * Not synchronised: the task scheduler's lock guards it.
 */
final class WarmUp {

  private val warm = mutable.HashSet[String]()
  private val starts = mutable.HashMap[String, Long]()

  def isWarm(executor: String): Boolean = warm(executor)

  /** The executor needed so long from the start of its process until it was ready. */
  def startedIn(executor: String, nanos: Long): Unit = starts(executor) = nanos

  /** now: nanoseconds of a monotonic clock. */
  def since(executor: String, now: Long): Long =
    if (isWarm(executor)) now
    else now + math.min(
      WarmUp.MostNanos,
      math.max(WarmUp.Nanos, WarmUp.Starts * starts.getOrElse(executor, 0L)))

  /** A task of the executor has ended successfully. */
  def done(executor: String): Unit = warm += executor

  /** The executor has ended; its number is never used again. */
  def lost(executor: String): Unit = {
    warm -= executor
    starts -= executor
  }
}

object WarmUp {
  val Nanos: Long = 5L * 1000 * 1000 * 1000
  val MostNanos: Long = 60L * 1000 * 1000 * 1000

  /** Loading what a task needs takes less than as many starts of an executor. */
  val Starts = 3L
}
