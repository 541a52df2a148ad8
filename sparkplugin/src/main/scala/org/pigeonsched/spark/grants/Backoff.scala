package org.pigeonsched.spark.grants

/**
 * Calms a level whose grants come back unused: demand that Spark cannot place (an excluded
 * executor, a speculative copy without a host) would otherwise be granted and declined for as long
 * as it lasts, thousands of times a second.
 *
 * Some declines are the normal end of a stage, so there is a credit of a few; each grant that is
 * used earns one more. Without credit the level asks for nothing for a pause, which doubles up to a
 * bound with each further decline, and halves with each use. So over any time
 *
 *   declines <= uses + Tolerated + pauses + grants that were on their way when a pause began
 */
final class Backoff {
  import Backoff._

  private var credit = Tolerated
  private var pause = FirstPauseNanos
  private var until: Option[Long] = None

  /** now: nanoseconds of a monotonic clock, as in all methods. */
  def declined(now: Long): Unit =
    if (credit > 0) credit -= 1
    else if (!paused(now)) {
      until = Some(now + pause)
      pause = math.min(2 * pause, LongestPauseNanos)
    }

  def used(): Unit = {
    credit = math.min(Tolerated, credit + 1)
    pause = math.max(FirstPauseNanos, pause / 2)
    until = None
  }

  def paused(now: Long): Boolean = until.exists(_ - now > 0)
}

object Backoff {
  val Tolerated = 8
  val FirstPauseNanos: Long = 50L * 1000 * 1000
  val LongestPauseNanos: Long = 2L * 1000 * 1000 * 1000
}
