package org.apache.spark.scheduler.cluster.pigeon;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskScheduler;

/**
 * The class that Spark loads for {@code pigeon://} and {@code spark-pigeon://}.
 *
 * <p>It is Java, and names the rest of the plugin by reflection only, so that it links under any
 * Spark and any Scala: under a Spark that it was not built for, the jar refuses first of all with
 * an explanation, where Scala would fail later with a NoSuchMethodError.
 */
public final class PigeonClusterManager implements ExternalClusterManager {

  private static final String WIRING = "org.apache.spark.scheduler.cluster.pigeon.Wiring";

  private ExternalClusterManager wiring;

  @Override
  public boolean canCreate(String masterUrl) {
    return masterUrl.startsWith("pigeon://") || masterUrl.startsWith("spark-pigeon://");
  }

  @Override
  public TaskScheduler createTaskScheduler(SparkContext context, String masterUrl) {
    SparkLine.check(SparkLine.running());
    return wiring().createTaskScheduler(context, masterUrl);
  }

  @Override
  public SchedulerBackend createSchedulerBackend(
      SparkContext context, String masterUrl, TaskScheduler scheduler) {
    return wiring().createSchedulerBackend(context, masterUrl, scheduler);
  }

  @Override
  public void initialize(TaskScheduler scheduler, SchedulerBackend backend) {
    wiring().initialize(scheduler, backend);
  }

  private ExternalClusterManager wiring() {
    if (wiring == null) {
      try {
        wiring = (ExternalClusterManager) Class.forName(WIRING, true, getClass().getClassLoader())
            .getDeclaredConstructor().newInstance();
      } catch (ReflectiveOperationException | LinkageError e) {
        throw new IllegalStateException("Pigeon's plugin cannot be loaded: " + WIRING
            + " (Spark " + SparkLine.running() + "). The jar is damaged or another version of it"
            + " comes first on the class path. Keep exactly one jar of Pigeon.", e);
      }
    }
    return wiring;
  }
}
