package org.apache.spark.scheduler.cluster.pigeon

import java.nio.ByteBuffer
import java.util.concurrent.{ConcurrentHashMap, Executors, ScheduledExecutorService, TimeUnit}

import scala.concurrent.Future

import org.slf4j.LoggerFactory

import org.apache.spark.{SparkContext, SparkException, TaskState}
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.rpc.{RpcAddress, RpcCallContext, RpcEndpointRef}
import org.apache.spark.scheduler._
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages._
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend
import org.apache.spark.util.SerializableBuffer

import org.pigeonsched.spark.{MasterUrl, Refusal}
import org.pigeonsched.spark.grants.Levels.Told
import org.pigeonsched.spark.link.{ApplicationLink, ExecutorState}

/**
 * The driver's side of its executors: they are wanted here, started and stopped by the daemons, and
 * known by what the daemons say of them and by their connection to the driver.
 *
 * The constructor of the superclass calls createDriverEndpoint before any field of this class is
 * set: what the endpoint touches is lazy, or is not there before start().
 */
private[spark] class PigeonSchedulerBackend(scheduler: PigeonTaskScheduler, sc: SparkContext, masterUrl: String)
  extends CoarseGrainedSchedulerBackend(scheduler, sc.env.rpcEnv) with Demand.Outlet {
  import PigeonSchedulerBackend._

  private lazy val logger = LoggerFactory.getLogger(classOf[PigeonSchedulerBackend])
  private lazy val settings = scheduler.settings
  private lazy val id = settings.applicationId.getOrElse(ApplicationSpec.freshId())
  private lazy val refs = new ConcurrentHashMap[String, RpcEndpointRef]()
  private lazy val book = new ExecutorBook
  private lazy val later: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { r =>
    val t = new Thread(r, "pigeon-later")
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
    count()
    val frontends = MasterUrl.parse(masterUrl)
    val l = ApplicationSpec.link(sc, settings, id, frontends, News)
    l.tell(wants.current)
    l.start(settings.registerMillis)
    link = Some(l)
    l.tell(wants.current)
  }

  // Spark reckons requestExecutors and killExecutors from what was requested before, and takes that for
  // nothing: after an executor of two was killed, a request for another one would be for one in all.
  private def count(): Unit = if (wants.executors > 0) {
    val profile = ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID
    requestTotalExecutors(Map(profile -> wants.executors), Map(profile -> 0), Map(profile -> Map.empty[String, Int]))
  }

  override def stop(): Unit = {
    stopping = true
    later.shutdownNow()
    try super.stop() finally link.foreach(_.close())
  }

  override def sufficientResourcesRegistered(): Boolean =
    wants.executors <= 0 || totalRegisteredExecutors.get() >= wants.executors * minRegisteredRatio

  override protected def doRequestTotalExecutors(totals: Map[ResourceProfile, Int]): Future[Boolean] = {
    tell(wants.total(totals.values.sum))
    Future.successful(true)
  }

  override protected def doKillExecutors(ids: Seq[String]): Future[Boolean] = {
    tell(wants.stop(ids))
    Future.successful(true)
  }

  // ---- Demand.Outlet ----

  override def want(levels: Seq[Told]): Unit = tell(wants.levels(levels))

  override def send(executor: String, message: Any): Unit = Option(refs.get(executor)).foreach(_.send(message))

  override def cutoffNanos: Long = link.fold(0L)(_.cutoffNanos)

  override def waitsLong(level: String, seconds: Long): Unit = logger.warn(
    s"Stage level $level has waited $seconds s for a slot: ${book.summary}." +
      s" 'pigeon explain $id' tells what is ahead of it.")

  private def tell(state: org.pigeonsched.spark.link.Wanted): Unit = link.foreach(_.tell(state))

  private object News extends ApplicationLink.Listener {

    override def note(text: String): Unit = logger.warn(text)

    override def disowned(why: Refusal): Unit = if (!stopping) fail(s"Pigeon serves it no more: ${why.getMessage}")

    override def executor(state: ExecutorState): Unit = {
      val fresh = book.note(state)
      if (state.id.nonEmpty) wants.heard(state.id.toInt)
      if (state.exited) exited(state, fresh)
      else if (fresh && state.waiting) logger.warn(s"An executor waits: ${state.reason}")
      else if (fresh) logger.info(s"Executor ${state.id} on ${state.node} is ${state.state}")
      if (state.last) noMore(state)
    }
  }

  private def exited(state: ExecutorState, fresh: Boolean): Unit = {
    wants.gone(state.id)
    refs.remove(state.id)
    val stopped = stopping || state.status == 0 && state.reason.isEmpty
    if (fresh && !stopped) logger.warn(s"Executor ${state.id} on ${state.node} has exited with ${state.status}: ${state.reason}")
    if (!stopping && fresh) removeExecutor(state.id, ExitReason.of(state))
  }

  // Nothing runs and nothing will: waiting on would be for ever.
  private def noMore(state: ExecutorState): Unit =
    if (!stopping && book.aliveIds.isEmpty) fail(s"Pigeon starts no more executors: ${state.reason}")

  private def fail(why: String): Unit = {
    logger.error(s"The application ends. $why")
    try scheduler.error(why)
    catch { case e: SparkException => logger.debug("no stage was running", e) }
    finally sc.stopInNewThread()
  }

  /** Spark's endpoint, which also takes what executors say of grants. */
  private class PigeonEndpoint extends DriverEndpoint {

    override def receive: PartialFunction[Any, Unit] = grants.orElse(super.receive)

    private def grants: PartialFunction[Any, Unit] = {
      case Granted(executor, batch) =>
        if (isExecutorActive(executor)) {
          scheduler.granted(executor, batch)
          offer(executor)
        } else send(executor, Release(batch.map(_.id)))
      // The status update that follows makes the offer.
      case Kept(executor, grant) =>
        if (isExecutorActive(executor)) scheduler.kept(executor, grant) else send(executor, Release(Seq(grant.id)))
      case Expired(executor, ids, reason) =>
        logger.warn(s"Executor $executor gave ${ids.size} grants back: $reason")
        scheduler.expired(executor, ids)
    }

    // Makes Spark offer this one executor: the end of a task that never was, and held no core.
    private def offer(executor: String): Unit = super.receive(
      new StatusUpdate(executor, -1L, TaskState.FINISHED, new SerializableBuffer(ByteBuffer.allocate(0)), 0, Map.empty))

    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case r: RegisterExecutor =>
        refs.put(r.executorId, r.executorRef)
        super.receiveAndReply(context)(r)
      case m if super.receiveAndReply(context).isDefinedAt(m) => super.receiveAndReply(context)(m)
    }

    // The connection breaks before the exit status is known. The executor is offered no more now, and
    // is removed when the daemons report its end, or after a while without them.
    override def onDisconnected(address: RpcAddress): Unit =
      addressToExecutorId.get(address).foreach { executor =>
        if (disableExecutor(executor) && !stopping) later.schedule(
          (() => if (book.aliveIds(executor)) removeExecutor(executor, ExitReason.lost)): Runnable, ExitReportSeconds, TimeUnit.SECONDS)
      }
  }
}

private[spark] object PigeonSchedulerBackend {
  /** For how long the driver waits for the exit status of an executor whose connection broke. */
  val ExitReportSeconds = 5L
}
