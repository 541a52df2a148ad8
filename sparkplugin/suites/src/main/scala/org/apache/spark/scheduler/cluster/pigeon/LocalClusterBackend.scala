package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.SparkContext

/** The plugin's backend with its own daemons, which end when it has ended. */
private[spark] final class LocalClusterBackend(
    scheduler: PigeonTaskScheduler,
    sc: SparkContext,
    daemons: Daemons)
  extends PigeonSchedulerBackend(scheduler, sc, daemons.master) {

  override def stop(): Unit =
    try super.stop()
    finally daemons.stop()
}
