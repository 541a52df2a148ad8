package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.scheduler.{Pool, TaskSetManager}
import org.apache.spark.scheduler.SchedulingMode.SchedulingMode

/**
 * The root of Spark's pools, which can hide task sets for the time of one offer: so slots granted
 * for one class are offered to its stages only, in the order that Spark gives them (FIFO, FAIR).
 *
 * Used under the task scheduler's lock alone.
 */
private[spark] final class ClassPool(mode: SchedulingMode) extends Pool("", mode, 0, 0) {

  private var shown: TaskSetManager => Boolean = ClassPool.All

  /** During body only these are there for Spark. */
  def showing[T](which: TaskSetManager => Boolean)(body: => T): T = {
    shown = which
    try body finally shown = ClassPool.All
  }

  override def getSortedTaskSetQueue: ArrayBuffer[TaskSetManager] = {
    val sorted = super.getSortedTaskSetQueue
    if (shown eq ClassPool.All) sorted else sorted.filter(shown)
  }
}

private[spark] object ClassPool {
  private val All: TaskSetManager => Boolean = _ => true
}
