package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{ExternalClusterManager, SchedulerBackend, TaskScheduler}

/**
 * The cluster manager to which PigeonClusterManager delegates once it has checked that this Spark
 * is supported.
 */
private[spark] final class Wiring extends ExternalClusterManager {

  override def canCreate(masterUrl: String): Boolean = true

  override def createTaskScheduler(sc: SparkContext, masterUrl: String): TaskScheduler = {
    val settings = Settings.of(sc.conf)
    // Waiting for a better slot than the granted one costs more than it gains: a grant that is not
    // used at once goes to another application. In coarse mode executors keep their slots.
    if (settings.grants) {
      sc.conf.setIfMissing("spark.locality.wait", "0s")
      SessionSettings.install(sc.conf)
    }
    new PigeonTaskScheduler(sc, settings)
  }

  override def createSchedulerBackend(
      sc: SparkContext,
      masterUrl: String,
      scheduler: TaskScheduler): SchedulerBackend =
    new PigeonSchedulerBackend(scheduler.asInstanceOf[PigeonTaskScheduler], sc, masterUrl)

  override def initialize(scheduler: TaskScheduler, backend: SchedulerBackend): Unit = {
    val ours = scheduler.asInstanceOf[PigeonTaskScheduler]
    ours.initialize(backend)
    ours.demand.connect(backend.asInstanceOf[PigeonSchedulerBackend])
  }
}
