package org.apache.spark.scheduler.cluster.pigeon

import java.nio.ByteBuffer

import org.apache.spark.{SparkContext, TaskState}
import org.apache.spark.TaskState.TaskState
import org.apache.spark.scheduler._

import org.pigeonsched.spark.Refusal
import org.pigeonsched.spark.grants.Grant

/**
 * Spark's own scheduler, which sees a free core only where a grant is held.
 *
 * Locality, pools, retries, speculation, exclusion and cancellation are Spark's: a grant permits
 * the use of a slot, and Spark decides for what. In coarse mode nothing is changed.
 *
 * Lock order: this one, then the backend's. No method waits for a daemon.
 */
private[spark] class PigeonTaskScheduler(sc: SparkContext, val settings: Settings)
  extends TaskSchedulerImpl(sc) {

  override val rootPool: ClassPool = new ClassPool(schedulingMode)

  /** Guarded by this. */
  val demand = new Demand(sc, settings)

  def executorStartedIn(executor: String, nanos: Long): Unit =
    synchronized(demand.executorStartedIn(executor, nanos))

  def granted(executor: String, grants: Seq[Grant]): Unit =
    synchronized(demand.arrived(executor, grants, now))

  def kept(executor: String, grant: Grant): Unit = synchronized(demand.kept(executor, grant, now))

  def expired(executor: String, ids: Seq[String]): Unit =
    synchronized(demand.expired(executor, ids))

  // Not earlier: metrics are named after the application, whose id the context has set before.
  override def postStartHook(): Unit = {
    sc.env.metricsSystem.registerSource(demand.metrics)
    super.postStartHook()
  }

  override def submitTasks(taskSet: TaskSet): Unit =
    if (!settings.grants) super.submitTasks(taskSet)
    else synchronized {
      val refusal = refusalOf(taskSet)
      super.submitTasks(taskSet)
      refusal.foreach { r =>
        taskSetManagerForAttempt(
          taskSet.stageId,
          taskSet.stageAttemptId).foreach(_.abort(r.getMessage))
      }
    }

  override def taskSetFinished(manager: TaskSetManager): Unit = synchronized {
    super.taskSetFinished(manager)
    demand.finished(manager.taskSet.stageId, manager.taskSet.stageAttemptId)
    if (settings.grants) updateDemand()
  }

  override def resourceOffers(
      offers: IndexedSeq[WorkerOffer],
      isAllFreeResources: Boolean): Seq[Seq[TaskDescription]] = synchronized {
    if (!settings.grants) super.resourceOffers(offers, isAllFreeResources)
    else {
      demand.demote(now)
      val launched = offerGranted(offers, o => super.resourceOffers(o, isAllFreeResources))
      offers.foreach(o => demand.releaseAll(o.executorId, now))
      demand.releaseOld(now)
      updateDemand()
      launched
    }
  }

  override def statusUpdate(tid: Long, state: TaskState, data: ByteBuffer): Unit = if (tid >= 0) {
    if (settings.grants && TaskState.isFinished(state)) synchronized {
      demand.ended(tid, now, state == TaskState.FINISHED)
      if (state == TaskState.FINISHED) Option(taskIdToTaskSetManager.get(tid)).foreach { m =>
        m.taskInfos.get(tid).foreach(info => demand.fetching(m, info.index))
      }
    }
    super.statusUpdate(tid, state, data)
  }

  override def executorLost(executorId: String, reason: ExecutorLossReason): Unit = {
    synchronized(demand.executorLost(executorId, now))
    super.executorLost(executorId, reason)
  }

  // One round of offers for each kind that has grants here, the more urgent one first; each round
  // sees only the stages of its kind. Without a grant there is still a round, of no cores, because
  // Spark does bookkeeping in it.
  private def offerGranted(
      offers: IndexedSeq[WorkerOffer],
      offer: IndexedSeq[WorkerOffer] => Seq[Seq[TaskDescription]]): Seq[Seq[TaskDescription]] = {
    val kinds = demand.kinds.filter(k => offers.exists(o => demand.count(o.executorId, k) > 0))
    val emptyRound =
      if (kinds.nonEmpty && offers.forall(o => isExecutorAlive(o.executorId))) Nil
      else offer(offers.map(SparkShim.offerFor(this, _, 0, 0)))
    val used = scala.collection.mutable.HashMap[String, Int]().withDefaultValue(0)
    emptyRound ++ kinds.flatMap { k =>
      val open = offers.map(o =>
        SparkShim.offerFor(this, o, demand.count(o.executorId, k), used(o.executorId)))
      val chosen = rootPool.restrictedTo(demand.kindOf(_).contains(k))(offer(open))
      chosen.foreach(_.foreach { t =>
        used(t.executorId) += 1
        Option(taskIdToTaskSetManager.get(t.taskId)).foreach(demand.bind(
          t.executorId,
          t.taskId,
          _,
          now))
      })
      chosen
    }
  }

  private def updateDemand(): Unit = {
    val hosts = hostToExecutors.iterator.filter(_._2.nonEmpty).map(_._1).toList
    demand.update(rootPool.getSortedTaskSetQueue.toList, hosts, now)
  }

  private def refusalOf(taskSet: TaskSet): Option[Refusal] =
    if (taskSet.tasks.headOption.exists(_.isBarrier)) Some(atOnce("barrier stages do", taskSet))
    else if (SparkShim.isPipelined(taskSet)) Some(atOnce(
      "pipelined shuffle groups (stateful queries in real-time mode) do",
      taskSet))
    else {
      try {
        demand.submitted(taskSet)
        None
      } catch { case r: Refusal => Some(r) }
    }

  private def atOnce(what: String, taskSet: TaskSet) = new Refusal(
    s"$what not run in Pigeon's mode grants",
    s"stage ${taskSet.stageId} of job ${taskSet.priority} with ${taskSet.tasks.length} tasks",
    "all its tasks must start at the same time, and grants come one by one: it could wait for ever",
    s"start the application with ${Settings.Mode}=coarse, in which its executors hold their slots")

  private def now: Long = System.nanoTime()
}
