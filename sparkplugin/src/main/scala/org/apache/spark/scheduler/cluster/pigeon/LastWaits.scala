package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.SparkContext

/** The waits for grants that the metrics of an application still have, for who measures them. */
object LastWaits {

  /** Microseconds, at most GrantMetrics.Waits of them; none under another cluster manager. */
  def micros(sc: SparkContext): Seq[Long] =
    sc.env.metricsSystem.getSourcesByName(GrantMetrics.Name).toList
      .collect { case m: GrantMetrics => m }
      .flatMap(_.waited.getSnapshot.getValues.toList)
}
