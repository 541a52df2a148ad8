package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.{SparkContext, SparkException}
import org.apache.spark.scheduler.{ExternalClusterManager, SchedulerBackend, TaskScheduler}

/**
 * Gives a test that asks for local-cluster[n,c,m] a Pigeon of its own: real daemons with n nodes of
 * c cores, for as long as its SparkContext lives.
 *
 * Everything that is tested is the plugin's. What this adds is what Spark does for local-cluster
 * too: executors with the tests' class path, one for each c cores of a node, memory checked against m.
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
      sc: SparkContext, master: String, scheduler: TaskScheduler): SchedulerBackend = {
    val asked = parse(master)
    val daemons = Daemons.start(asked.nodes, slots(sc, asked))
    new LocalClusterBackend(scheduler.asInstanceOf[PigeonTaskScheduler], sc, daemons)
  }

  override def initialize(scheduler: TaskScheduler, backend: SchedulerBackend): Unit =
    plugin.initialize(scheduler, backend)
}

private[spark] object LocalClusterManager {

  private val Master = """local-cluster\[\s*([0-9]+)\s*,\s*([0-9]+)\s*,\s*([0-9]+)\s*]""".r

  /** The address is known when the daemons run; only the scheme matters before. */
  private val Anywhere = "pigeon://127.0.0.1:1"

  private final case class Asked(nodes: Int, cores: Int, memory: Int)

  private def parse(master: String): Asked = master match {
    case Master(nodes, cores, memory) => Asked(nodes.toInt, cores.toInt, memory.toInt)
  }

  // In mode grants a slot runs a task, of however many cores; in coarse it is a core of an executor.
  private def slots(sc: SparkContext, asked: Asked): Int =
    if (sc.conf.get(Settings.Mode) == "grants") math.max(1, asked.cores / sc.conf.getInt("spark.task.cpus", 1))
    else asked.cores

  private def prepare(sc: SparkContext, asked: Asked): Unit = {
    // A node of the daemons has more: it counts what a JVM needs beside its heap, Spark's does not.
    if (sc.executorMemory > asked.memory) throw new SparkException(
      s"Asked to launch cluster with ${asked.memory} MiB/worker but requested ${sc.executorMemory} MiB/executor")
    val conf = sc.conf
    conf.setIfMissing("spark.shuffle.readHostLocalDisk", "false")
    conf.set(Settings.ClassPath, System.getProperty("java.class.path"))
    conf.set(Settings.Mode, System.getProperty("pigeon.suites.mode"))
    conf.set("spark.executor.extraJavaOptions",
      conf.get("spark.executor.extraJavaOptions", "") + " -Dspark.testing=true")
    conf.getOption("spark.executor.cores").map(_.toInt).filter(_ => !conf.contains("spark.executor.instances"))
      .filter(_ => !conf.getBoolean("spark.dynamicAllocation.enabled", false))
      .foreach(cores => conf.set("spark.executor.instances", (asked.nodes * (asked.cores / cores)).toString))
  }
}
