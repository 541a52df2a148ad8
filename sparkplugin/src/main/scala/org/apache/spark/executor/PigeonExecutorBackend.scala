package org.apache.spark.executor

import java.lang.management.ManagementFactory
import java.nio.ByteBuffer
import java.util.concurrent.{Executors, TimeUnit}

import org.apache.spark.{SparkEnv, TaskState}
import org.apache.spark.TaskState.TaskState
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.rpc.RpcEnv
import org.apache.spark.scheduler.cluster.pigeon._

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.spark.grants.{ExecutorGrants, Grant}
import org.pigeonsched.spark.link.NodeLink

/**
 * Spark's executor, which receives the grants of its node monitor, relays them to the driver, and
 * reports to the node monitor when a slot is free again. See ExecutorGrants for the life of a
 * grant.
 */
private[spark] class PigeonExecutorBackend(
    rpcEnv: RpcEnv,
    arguments: CoarseGrainedExecutorBackend.Arguments,
    env: SparkEnv,
    profile: ResourceProfile,
    credentials: PigeonExecutorBackend.NodeCredentials)
  extends CoarseGrainedExecutorBackend(
    rpcEnv,
    arguments.driverUrl,
    arguments.executorId,
    arguments.bindAddress,
    arguments.hostname,
    arguments.cores,
    env,
    arguments.resourcesFileOpt,
    profile) with NodeLink.Listener {

  private val grantTimeout =
    env.conf.getTimeAsMs(Settings.GrantTimeout, Settings.DefaultGrantTimeout)
  private val leases = env.conf.getBoolean(Settings.Lease, true)
  private val grants = new ExecutorGrants(TimeUnit.MILLISECONDS.toNanos(grantTimeout))
  private val slots = math.max(1, arguments.cores / SparkSettings.coresPerTask(env.conf))
  private val link = new NodeLink(
    NodeLink.Identity(credentials.node, arguments.appId, arguments.executorId, credentials.token),
    slots,
    this)
  private val sweeper = Executors.newSingleThreadScheduledExecutor { r =>
    val t = new Thread(r, "pigeon-grant-sweep")
    t.setDaemon(true)
    t
  }

  override def receive: PartialFunction[Any, Unit] = grantMessages.orElse(super.receive)

  private def grantMessages: PartialFunction[Any, Unit] = {
    // From here on the driver counts the cores: before that, a grant would find none.
    case CoarseGrainedExecutorBackend.RegisteredExecutor =>
      super.receive(CoarseGrainedExecutorBackend.RegisteredExecutor)
      val uptime = ManagementFactory.getRuntimeMXBean.getUptime
      driver.foreach(_.send(Started(arguments.executorId, TimeUnit.MILLISECONDS.toNanos(uptime))))
      link.start()
      sweeper.scheduleWithFixedDelay(
        () => sweep(),
        grantTimeout,
        math.max(1, grantTimeout / 4),
        TimeUnit.MILLISECONDS)
    case Bind(grant, task) =>
      if (!grants.bind(grant, task, System.nanoTime())) {
        logWarning(
          s"Task $task runs without a slot of its own: its grant $grant was given back before")
      }
    case Release(ids) => grants.released(ids).foreach(link.end)
  }

  override def statusUpdate(taskId: Long, state: TaskState, data: ByteBuffer): Unit = {
    val now = System.nanoTime()
    if (state == TaskState.RUNNING) grants.started(taskId, now)
    val outcome =
      if (TaskState.isFinished(state)) grants.finished(taskId, now) else ExecutorGrants.Unknown
    // The driver must learn of a kept slot before it learns that the task has ended. A free slot is
    // reported after that, or another task could arrive before the driver counts the core as free.
    outcome match {
      case ExecutorGrants.Kept(grant) =>
        driver.foreach(_.send(Kept(arguments.executorId, grant)))
        super.statusUpdate(taskId, state, data)
      case ExecutorGrants.Over(end) =>
        super.statusUpdate(taskId, state, data)
        link.end(end)
      case ExecutorGrants.Unknown => super.statusUpdate(taskId, state, data)
    }
  }

  override def granted(batch: Seq[Grant]): Unit = {
    val usable = if (leases) batch else batch.map(_.copy(leaseMillis = 0))
    val fresh = grants.arrived(usable, System.nanoTime())
    if (fresh.nonEmpty) driver.foreach(_.send(Granted(arguments.executorId, fresh)))
  }

  override def giveBack(ids: Seq[String]): Unit = grants.giveBack(ids)

  override def rejected(why: Refusal): Unit = exitExecutor(1, why.getMessage)

  override def onStop(): Unit = {
    sweeper.shutdownNow()
    link.close()
    super.onStop()
  }

  private def sweep(): Unit = {
    val ends = grants.overdue(System.nanoTime())
    if (ends.nonEmpty) {
      driver.foreach(_.send(Expired(arguments.executorId, ends.map(_.grant.id), ends.head.reason)))
      ends.foreach(link.end)
    }
  }
}

private[spark] object PigeonExecutorBackend {

  /**
   * The address of the executor's node monitor, and the token which proves that it started this
   * executor.
   */
  final case class NodeCredentials(node: Address, token: String)

  def main(args: Array[String]): Unit = {
    val credentials = NodeCredentials(
      node(sys.env.getOrElse("PIGEON_NODE", "")),
      sys.env.getOrElse("PIGEON_TOKEN", ""))
    val parsed = CoarseGrainedExecutorBackend.parseArguments(args, "PigeonExecutorBackend")
    val perTask = sys.env.get("PIGEON_TASK_CPUS").fold(1)(_.toInt)
    CoarseGrainedExecutorBackend.run(
      parsed.copy(cores = parsed.cores * perTask),
      (rpcEnv, arguments, env, profile) =>
        new PigeonExecutorBackend(rpcEnv, arguments, env, profile, credentials))
    System.exit(0)
  }

  private def node(text: String): Address = Address.parse(text).getOrElse(throw new Refusal(
    s"PIGEON_NODE is '$text', not host:port",
    "this executor",
    "executors are started by a node monitor, which sets it",
    "start applications by their driver"))
}
