package org.apache.spark.scheduler.cluster.pigeon

import com.codahale.metrics.{Counter, Gauge, Histogram, MetricRegistry, SlidingWindowReservoir}

import org.apache.spark.metrics.source.Source

/** The driver's metrics source "pigeon": counts of its grants. */
private[spark] final class GrantMetrics(heldNow: () => Int, wantedNow: () => Long) extends Source {

  override val sourceName: String = GrantMetrics.Name
  override val metricRegistry: MetricRegistry = new MetricRegistry

  /** Grants that reached the driver. */
  val arrived: Counter = metricRegistry.counter("grants.arrived")

  /** Tasks that ran in a slot that was just granted. */
  val bound: Counter = metricRegistry.counter("grants.bound")

  /** Tasks that ran in the slot of an earlier task, under its lease. */
  val reused: Counter = metricRegistry.counter("grants.reused")

  /** Grants returned unused. */
  val declined: Counter = metricRegistry.counter("grants.declined")

  /**
   * Grants that executors ended because the driver did not answer, or because a task never started.
   */
  val expired: Counter = metricRegistry.counter("grants.expired")

  /**
   * Microseconds for which a level wanted a grant and had none, from one grant to the next. All of
   * the last ones are kept: most are so short that sampling could miss the rare long ones.
   */
  val waited: Histogram =
    metricRegistry.register(
      "grants.wait.us",
      new Histogram(new SlidingWindowReservoir(GrantMetrics.Waits)))

  gauge("grants.held", () => heldNow())
  gauge("grants.wanted", () => wantedNow())

  private def gauge[T](name: String, value: () => T): Unit =
    metricRegistry.register(name, new Gauge[T] { override def getValue: T = value() })
}

private[spark] object GrantMetrics {
  val Name = "pigeon"

  /** How many waits are kept. */
  val Waits = 1024
}
