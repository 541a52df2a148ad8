package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.scheduler.{Pool, TaskSetManager}
import org.apache.spark.scheduler.SchedulingMode.SchedulingMode

/**
 * The root of Spark's pools, which can hide task sets for the duration of one offer: so slots
 * granted for one class, owner and priority are offered only to its stages, in the order that Spark
 * decides (FIFO, FAIR).
 *
 * Used only under the task scheduler's lock.
 */
private[spark] final class ClassPool(mode: SchedulingMode) extends Pool("", mode, 0, 0) {

  private var visible: TaskSetManager => Boolean = ClassPool.All

  /** While body runs, Spark sees only these task sets. */
  def restrictedTo[T](which: TaskSetManager => Boolean)(body: => T): T = {
    visible = which
    try body
    finally visible = ClassPool.All
  }

  override def getSortedTaskSetQueue: ArrayBuffer[TaskSetManager] = {
    val sorted = super.getSortedTaskSetQueue
    if (visible eq ClassPool.All) sorted else sorted.filter(visible)
  }
}

private[spark] object ClassPool {
  private val All: TaskSetManager => Boolean = _ => true
}
