package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.SparkContext

/** The waits for grants that an application's metrics still hold, for measurements. */
object LastWaits {

  /**
   * Returns microseconds, at most GrantMetrics.Waits of them; none under another cluster manager.
   */
  def micros(sc: SparkContext): Seq[Long] =
    sc.env.metricsSystem.getSourcesByName(GrantMetrics.Name).toList
      .collect { case m: GrantMetrics => m }
      .flatMap(_.waited.getSnapshot.getValues.toList)
}
