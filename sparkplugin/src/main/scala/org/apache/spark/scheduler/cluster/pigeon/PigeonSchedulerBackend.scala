package org.apache.spark.scheduler.cluster.pigeon

import java.util.concurrent.{ConcurrentHashMap, Executors, ScheduledExecutorService, TimeUnit}

import scala.concurrent.Future

import org.apache.spark.{SparkContext, SparkException}
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.rpc.{RpcAddress, RpcCallContext, RpcEndpointRef}
import org.apache.spark.scheduler._
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages._
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend

import org.pigeonsched.spark.{MasterUrl, Refusal}
import org.pigeonsched.spark.grants.Levels.LevelState
import org.pigeonsched.spark.link.{ApplicationLink, ExecutorState, Wanted}

/**
 * The driver's side of its executors: it requests them, the daemons start and stop them, and it
 * follows them by the reports of the daemons and by their connections to the driver.
 *
 * The constructor of the superclass calls createDriverEndpoint before any field of this class is
 * set: the fields that the endpoint uses are lazy, or are not used before start().
 */
private[spark] class PigeonSchedulerBackend(
    scheduler: PigeonTaskScheduler,
    sc: SparkContext,
    masterUrl: String)
  extends CoarseGrainedSchedulerBackend(scheduler, sc.env.rpcEnv) with Demand.Backend {
  import PigeonSchedulerBackend._

  private lazy val settings = scheduler.settings
  private lazy val id = settings.applicationId.getOrElse(ApplicationSpec.freshId())
  private lazy val refs = new ConcurrentHashMap[String, RpcEndpointRef]()
  private lazy val executors = new ExecutorTable
  private lazy val removals: ScheduledExecutorService =
    Executors.newSingleThreadScheduledExecutor { r =>
      val t = new Thread(r, "pigeon-executor-removal")
      t.setDaemon(true)
      t
    }
  private lazy val wants = new WantedState(ApplicationSpec.executors(conf))
  @volatile private var link: Option[ApplicationLink] = None
  @volatile private var stopping = false

  override def applicationId(): String = id

  override protected def createDriverEndpoint(): DriverEndpoint = new PigeonEndpoint

  override def start(): Unit = {
    super.start()
    HadoopSecurity.warning.foreach(logWarning(_))
    registerInitialRequest()
    val frontends = MasterUrl.parse(masterUrl)
    val l = ApplicationSpec.link(sc, settings, id, frontends, ExecutorEvents)
    l.setWanted(wants.current)
    l.start(settings.registerMillis)
    link = Some(l)
    l.setWanted(wants.current)
  }

  // Spark computes requestExecutors and killExecutors from the previous request, which it assumes
  // to be zero: after one of two executors was killed, a request for another one would be for one
  // in total.
  private def registerInitialRequest(): Unit = if (wants.executors > 0) {
    val profile = ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID
    requestTotalExecutors(
      Map(profile -> wants.executors),
      Map(profile -> 0),
      Map(profile -> Map.empty[String, Int]))
  }

  override def stop(): Unit = {
    stopping = true
    removals.shutdownNow()
    try super.stop()
    finally link.foreach(_.close())
  }

  override def sufficientResourcesRegistered(): Boolean =
    wants.executors <= 0 || totalRegisteredExecutors.get() >= wants.executors * minRegisteredRatio

  override protected def doRequestTotalExecutors(totals: Map[ResourceProfile, Int])
      : Future[Boolean] = {
    sendWanted(wants.setExecutors(totals.values.sum))
    Future.successful(true)
  }

  override protected def doKillExecutors(ids: Seq[String]): Future[Boolean] = {
    sendWanted(wants.stopExecutors(ids))
    Future.successful(true)
  }

  // ---- Demand.Backend ----

  override def updateLevels(levels: Seq[LevelState]): Unit = sendWanted(wants.setLevels(levels))

  override def send(executor: String, message: Any): Unit =
    Option(refs.get(executor)).foreach(_.send(message))

  override def cutoffNanos: Long = link.fold(0L)(_.cutoffNanos)

  override def warnWaiting(level: String, seconds: Long): Unit = logWarning(
    s"Stage level $level has waited $seconds s for a slot:" +
      s" ${executors.summary(refs.containsKey(_))}." +
      s" 'pigeon explain $id' shows what is ahead of it.")

  private def sendWanted(state: Wanted): Unit = link.foreach(_.setWanted(state))

  private object ExecutorEvents extends ApplicationLink.Listener {

    override def note(text: String): Unit = logWarning(text)

    override def rejected(why: Refusal): Unit =
      if (!stopping) fail(s"Pigeon no longer serves it: ${why.getMessage}")

    override def executor(state: ExecutorState): Unit = {
      val fresh = executors.update(state)
      if (state.id.nonEmpty) wants.executorSeen(state.id.toInt)
      if (state.exited) exited(state, fresh)
      else if (fresh && state.waiting) logWarning(s"An executor waits: ${state.reason}")
      else if (fresh) logInfo(s"Executor ${state.id} on ${state.node} is ${state.state}")
      if (state.last) failIfNoExecutor(state)
    }
  }

  // Also for an executor of which this is the first report, or one that was removed as lost: Spark
  // ignores the removal of an executor that it does not have.
  private def exited(state: ExecutorState, fresh: Boolean): Unit = {
    val requested = wants.executorGone(state.id)
    refs.remove(state.id)
    val stopped = stopping || state.status == 0 && state.reason.isEmpty
    lazy val text =
      s"Executor ${state.id} on ${state.node} has exited with ${state.status}: ${state.reason}"
    if (fresh && requested) logInfo(text) else if (fresh && !stopped) logWarning(text)
    if (!stopping && fresh) removeExecutor(state.id, ExitReason.of(state))
  }

  // No executor runs and none will: waiting would never end.
  private def failIfNoExecutor(state: ExecutorState): Unit =
    if (!stopping && executors.aliveIds.isEmpty) {
      fail(s"Pigeon starts no more executors: ${state.reason}")
    }

  private def fail(why: String): Unit = {
    logError(s"The application ends. $why")
    try scheduler.error(why)
    catch { case e: SparkException => logDebug("no stage was running", e) }
    finally sc.stopInNewThread()
  }

  /** Spark's endpoint, which also handles the messages of executors about grants. */
  private class PigeonEndpoint extends DriverEndpoint {

    override def receive: PartialFunction[Any, Unit] = grants.orElse(super.receive)

    private def grants: PartialFunction[Any, Unit] = {
      case Started(executor, nanos) =>
        if (isExecutorActive(executor)) scheduler.executorStartedIn(executor, nanos)
      case Granted(executor, batch) =>
        if (isExecutorActive(executor)) {
          scheduler.granted(executor, batch)
          offer(executor)
        } else send(executor, Release(batch.map(_.id)))
      // The status update that follows makes the offer.
      case Kept(executor, grant) =>
        if (isExecutorActive(executor)) scheduler.kept(executor, grant)
        else send(executor, Release(Seq(grant.id)))
      case Expired(executor, ids, reason) =>
        logWarning(s"Executor $executor gave ${ids.size} grants back: $reason")
        scheduler.expired(executor, ids)
    }

    // Makes Spark offer this one executor.
    private def offer(executor: String): Unit = super.receive(SparkShim.noTaskEnded(executor))

    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case r: RegisterExecutor =>
        refs.put(r.executorId, r.executorRef)
        super.receiveAndReply(context)(r)
      case m if super.receiveAndReply(context).isDefinedAt(m) => super.receiveAndReply(context)(m)
    }

    // The connection breaks before the exit status is known. The executor is not offered any more,
    // and is removed when the daemons report its end, or after a while without such a report. One
    // that registers as its end has been reported is still there then: no second report follows.
    override def onDisconnected(address: RpcAddress): Unit =
      addressToExecutorId.get(address).foreach { executor =>
        if (disableExecutor(executor) && !stopping) removals.schedule(
          (() =>
            if (executors.lose(executor) || getExecutorIds().contains(executor)) {
              removeExecutor(executor, ExitReason.lost)
            }): Runnable,
          ExitReportSeconds,
          TimeUnit.SECONDS)
      }
  }
}

private[spark] object PigeonSchedulerBackend {

  /** How long the driver waits for the exit status of an executor whose connection broke. */
  val ExitReportSeconds = 5L
}
