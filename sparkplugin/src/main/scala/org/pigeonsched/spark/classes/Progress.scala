package org.pigeonsched.spark.classes

import scala.collection.mutable

/**
 * The durations of the tasks of a running stage. Tasks that still run count with their time so far,
 * so a stage of long tasks is recognised before its first task has ended.
 *
 * Not synchronised: the task scheduler's lock guards it.
 */
final class Progress {

  private val finished = new Durations
  private val running = mutable.HashMap[Long, Long]()

  /**
   * since: the instant from which its time counts. Nanoseconds of a monotonic clock, as in all
   * methods.
   */
  def started(task: Long, since: Long): Unit =
    if (running.size < Progress.MaxRunning) running(task) = since

  /**
   * Returns the duration of the task; None if it is not telling: a failed one indicates little
   * about the others, and one of a cold executor also loaded code.
   */
  def ended(task: Long, now: Long, telling: Boolean): Option[Long] = {
    val took = running.remove(task).map(now - _).filter(_ > 0 && telling)
    took.foreach(finished.add)
    took
  }

  /**
   * Returns a lower bound of the median, because running tasks may continue. None while it would be
   * based on too few tasks.
   */
  def median(now: Long): Option[Long] = {
    val known = seen(now)
    if (known.size < Progress.MinSamples) None else Durations.median(known)
  }

  /** Returns how many tasks the median is based on. */
  def samples(now: Long): Int = seen(now).size

  private def seen(now: Long): Seq[Long] =
    finished.values ++ running.valuesIterator.map(now - _).filter(isInformative)

  // A task that has just begun indicates nothing, unless it already took longer than half of the
  // others.
  private def isInformative(elapsed: Long): Boolean =
    elapsed > 0 && finished.median.forall(elapsed > _)
}

object Progress {

  /** A bound on the memory of one stage. */
  val MaxRunning = 1024

  /** One straggler, or the first tasks, which fill caches, indicate little about the others. */
  val MinSamples = 3
}
