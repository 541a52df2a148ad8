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

  /** now: nanoseconds of a monotonic clock, as in all methods. */
  def started(task: Long, now: Long): Unit =
    if (running.size < Progress.MaxRunning) running(task) = now

  /** What it took; None if it failed, which says little of the others. */
  def ended(task: Long, now: Long, successful: Boolean): Option[Long] = {
    val took = running.remove(task).map(now - _).filter(_ => successful)
    took.foreach(finished.add)
    took
  }

  /** A lower bound of the median: what runs may run on. */
  def median(now: Long): Option[Long] =
    Durations.median(finished.values ++ running.valuesIterator.map(now - _).filter(informs))

  // A task that has just begun says nothing, unless it already took longer than half of the others.
  private def informs(elapsed: Long): Boolean = finished.median.forall(elapsed > _)
}

object Progress {
  /** A bound on what one stage may have us remember. */
  val MaxRunning = 1024
}
