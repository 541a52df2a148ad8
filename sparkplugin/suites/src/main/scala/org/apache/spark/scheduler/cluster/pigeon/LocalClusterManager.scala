package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.{SparkContext, SparkException}
import org.apache.spark.scheduler.{ExternalClusterManager, SchedulerBackend, TaskScheduler}

/**
 * Gives a test that uses local-cluster[n,c,m] a Pigeon of its own: real daemons with n nodes of c
 * cores, for the lifetime of its SparkContext.
 *
 * The code under test is the plugin's. What this adds is what Spark does for local-cluster too:
 * executors with the tests' class path, one for each c cores of a node, memory checked against m.
 */
private[spark] final class LocalClusterManager extends ExternalClusterManager {
  import LocalClusterManager._

  private val plugin = new PigeonClusterManager

  override def canCreate(master: String): Boolean = Master.pattern.matcher(master).matches

  override def createTaskScheduler(sc: SparkContext, master: String): TaskScheduler = {
    prepare(sc, parse(master))
    plugin.createTaskScheduler(sc, Anywhere)
  }

  override def createSchedulerBackend(
      sc: SparkContext,
      master: String,
      scheduler: TaskScheduler): SchedulerBackend = {
    val size = parse(master)
    val daemons = Daemons.start(size.nodes, slots(sc, size))
    new LocalClusterBackend(scheduler.asInstanceOf[PigeonTaskScheduler], sc, daemons)
  }

  override def initialize(scheduler: TaskScheduler, backend: SchedulerBackend): Unit =
    plugin.initialize(scheduler, backend)
}

private[spark] object LocalClusterManager {

  private val Master = """local-cluster\[\s*([0-9]+)\s*,\s*([0-9]+)\s*,\s*([0-9]+)\s*]""".r

  /** The address is known when the daemons run; before that only the scheme matters. */
  private val Anywhere = "pigeon://127.0.0.1:1"

  private final case class ClusterSize(nodes: Int, cores: Int, memory: Int)

  private def parse(master: String): ClusterSize = master match {
    case Master(nodes, cores, memory) => ClusterSize(nodes.toInt, cores.toInt, memory.toInt)
  }

  // In mode grants a slot runs one task, of however many cores; in mode coarse it is one core of an
  // executor.
  private def slots(sc: SparkContext, size: ClusterSize): Int =
    if (sc.conf.get(Settings.Mode) != "grants") size.cores
    else math.max(1, size.cores / sc.conf.getInt("spark.task.cpus", 1))

  private def prepare(sc: SparkContext, size: ClusterSize): Unit = {
    // A node of the daemons has more: it counts the memory that a JVM needs beside its heap,
    // Spark's does not.
    if (sc.executorMemory > size.memory) throw new SparkException(
      s"Asked to launch cluster with ${size.memory} MiB/worker but requested" +
        s" ${sc.executorMemory} MiB/executor")
    val conf = sc.conf
    conf.setIfMissing("spark.shuffle.readHostLocalDisk", "false")
    conf.set(Settings.ClassPath, System.getProperty("java.class.path"))
    conf.set(Settings.Mode, System.getProperty("pigeon.suites.mode"))
    conf.set(
      "spark.executor.extraJavaOptions",
      conf.get("spark.executor.extraJavaOptions", "") + " -Dspark.testing=true")
    conf.getOption("spark.executor.cores").map(_.toInt).filter(_ =>
      !conf.contains("spark.executor.instances"))
      .filter(_ => !conf.getBoolean("spark.dynamicAllocation.enabled", false))
      .foreach(cores =>
        conf.set("spark.executor.instances", (size.nodes * (size.cores / cores)).toString))
  }
}
