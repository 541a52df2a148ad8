package org.pigeonsched.spark.grants

/**
 * Calms a level whose grants come back unused: demand that Spark cannot place (an excluded
 * executor, a speculative copy without a host) would otherwise be granted and declined for as long
 * as it lasts, thousands of times a second.
 *
 * Of some declines in a row the first few are the normal end of a stage. After more the level asks
 * for nothing for a pause that doubles up to a bound, until a grant of it is used.
 */
final class Backoff {
  import Backoff._

  private var inRow = 0
  private var pause = FirstPauseNanos
  private var until: Option[Long] = None

  /** now: nanoseconds of a monotonic clock, as in all methods. */
  def declined(now: Long): Unit = {
    inRow += 1
    if (inRow > Tolerated && !paused(now)) {
      until = Some(now + pause)
      pause = math.min(2 * pause, LongestPauseNanos)
    }
  }

  def used(): Unit = {
    inRow = 0
    pause = FirstPauseNanos
    until = None
  }

  def paused(now: Long): Boolean = until.exists(_ - now > 0)
}

object Backoff {
  val Tolerated = 8
  val FirstPauseNanos: Long = 50L * 1000 * 1000
  val LongestPauseNanos: Long = 2L * 1000 * 1000 * 1000
}
