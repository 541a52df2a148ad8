package org.pigeonsched.spark.grants

/**
 * Limits how often a level whose grants are returned unused wants new ones. Otherwise demand
 * that Spark cannot place (an excluded executor, a speculative copy without a host) would be
 * granted and declined thousands of times a second.
 *
 * Some declines are the normal end of a stage, so a level has a small credit; each grant that is
 * used earns one more. Without credit the level wants nothing during a pause, which doubles up
 * to a bound with each further decline and halves with each use. So over any period
 *
 *   declines <= uses + MaxCredit + pauses + grants that were in transit when a pause began
 */
final class Backoff {
  import Backoff._

  private var credit = MaxCredit
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
    credit = math.min(MaxCredit, credit + 1)
    pause = math.max(FirstPauseNanos, pause / 2)
    until = None
  }

  def paused(now: Long): Boolean = until.exists(_ - now > 0)
}

object Backoff {
  val MaxCredit = 8
  val FirstPauseNanos: Long = 50L * 1000 * 1000
  val LongestPauseNanos: Long = 2L * 1000 * 1000 * 1000
}
