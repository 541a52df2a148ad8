package org.pigeonsched.spark.classes

import scala.collection.mutable

/**
 * How long the tasks of a running stage take, those that still run counted with what they took so
 * far: so a stage of long tasks is known for what it is before its first task has ended.
 *
 * Not synchronised: the task scheduler's lock guards it.
 */
final class Progress {

  private val finished = new Durations
  private val running = mutable.HashMap[Long, Long]()

  /** since: from when its time counts. Nanoseconds of a monotonic clock, as in all methods. */
  def started(task: Long, since: Long): Unit =
    if (running.size < Progress.MaxRunning) running(task) = since

  /** What it took; None if it failed, which says little of the others, or its time did not count yet. */
  def ended(task: Long, now: Long, successful: Boolean): Option[Long] = {
    val took = running.remove(task).map(now - _).filter(_ > 0 && successful)
    took.foreach(finished.add)
    took
  }

  /** A lower bound of the median, as what runs may run on. None while it would rest on too few tasks. */
  def median(now: Long): Option[Long] = {
    val known = seen(now)
    if (known.size < Progress.LeastSamples) None else Durations.median(known)
  }

  /** On how many tasks the median rests. */
  def samples(now: Long): Int = seen(now).size

  private def seen(now: Long): Seq[Long] = finished.values ++ running.valuesIterator.map(now - _).filter(informs)

  // A task that has just begun says nothing, unless it already took longer than half of the others.
  private def informs(elapsed: Long): Boolean = elapsed > 0 && finished.median.forall(elapsed > _)
}

object Progress {
  /** A bound on what one stage may have us remember. */
  val MaxRunning = 1024
  /** One straggler, or the first tasks that fill caches, say little of the others. */
  val LeastSamples = 3
}
