package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.SparkContext

/** The plugin's backend, with the daemons that it owns: they end when it has. */
private[spark] final class LocalClusterBackend(scheduler: PigeonTaskScheduler, sc: SparkContext, daemons: Daemons)
  extends PigeonSchedulerBackend(scheduler, sc, daemons.master) {

  override def stop(): Unit = try super.stop() finally daemons.stop()
}
