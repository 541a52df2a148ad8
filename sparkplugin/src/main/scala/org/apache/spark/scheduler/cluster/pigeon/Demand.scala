package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.{TaskSet, TaskSetManager}

import org.pigeonsched.spark.classes.WarmUp
import org.pigeonsched.spark.grants.{Grant, HeldGrants, Kind, Levels, UpdateThrottle}
import org.pigeonsched.spark.grants.HeldGrants.Held
import org.pigeonsched.spark.grants.Levels.LevelState

/**
 * The demand of the application and the grants it holds: its levels, its unbound grants, and its
 * running tasks.
 *
 * Every method is called under the task scheduler's lock; none calls back into Spark's schedulers
 * or blocks.
 */
private[spark] final class Demand(sc: SparkContext, settings: Settings) extends Logging {
  import Demand._

  private val held = new HeldGrants
  private val levels = new Levels
  private val waits = new GrantWaits
  private val classes = new StageClasses(sc, settings, () => cutoff)
  private val stages = mutable.HashMap[(Int, Int), StageLevel]()
  private val running = mutable.HashMap[Long, Running]()
  private val warmUp = new WarmUp
  private val kindsOfLevels = new RecentKinds

  private var backend: Option[Backend] = None
  private val throttle = new UpdateThrottle

  val metrics = new GrantMetrics(() => held.size, () => throttle.last.map(_.outstanding).sum)

  /** Sets the backend that sends demand and messages to executors. */
  def connect(b: Backend): Unit = backend = Some(b)

  /** A stage attempt begins. Throws a Refusal when a setting has no valid value. */
  def submitted(taskSet: TaskSet): Unit = {
    val level = classes.level(taskSet)
    stages((taskSet.stageId, taskSet.stageAttemptId)) = level
    put(level)
  }

  private def put(level: StageLevel): Unit = {
    levels.put(level.description)
    kindsOfLevels.put(level.name, level.kind)
  }

  /** The stage attempt has ended, or never began. */
  def finished(stage: Int, attempt: Int): Unit =
    stages.remove((stage, attempt)).foreach(level => levels.remove(level.name))

  /** The kinds of the present stages, the most urgent first. */
  def kinds: Seq[Kind] =
    stages.valuesIterator.map(_.kind).toList.distinct.sorted(Kind.mostUrgentFirst)

  def kindOf(m: TaskSetManager): Option[Kind] = levelOf(m).map(_.kind)

  private def levelOf(m: TaskSetManager): Option[StageLevel] =
    stages.get((m.taskSet.stageId, m.taskSet.stageAttemptId))

  def executorStartedIn(executor: String, nanos: Long): Unit = warmUp.startedIn(executor, nanos)

  def arrived(executor: String, grants: Seq[Grant], now: Long): Unit =
    grants.filter(g => held.arrived(executor, hold(g, now, kept = false))).foreach { g =>
      metrics.arrived.inc()
      levels.arrived(g.level)
      waits.arrived(g.level, now).foreach(nanos => metrics.waited.update(nanos / 1000))
    }

  def kept(executor: String, grant: Grant, now: Long): Unit =
    held.arrived(executor, hold(grant, now, kept = true))

  // The grant names its level, whose stage may have ended by now.
  private def hold(grant: Grant, now: Long, kept: Boolean): Held =
    Held(grant, kindsOfLevels.of(grant), now, kept)

  def expired(executor: String, ids: Seq[String]): Unit = {
    ids.foreach(held.forget(executor, _))
    metrics.expired.inc(ids.size.toLong)
  }

  /**
   * Spark reports no end of the tasks that ran there: without this call they would count as running
   * forever.
   */
  def executorLost(executor: String, now: Long): Unit = {
    held.takeAll(executor)
    warmUp.lost(executor)
    running.iterator.filter(_._2.executor == executor).map(_._1).toList.foreach(ended(
      _,
      now,
      successful = false))
  }

  def count(executor: String, kind: Kind): Int = held.count(executor, kind)

  /** Spark chose a task for the executor: binds a grant of its kind, which must be held. */
  def bind(executor: String, task: Long, m: TaskSetManager, now: Long): Unit = {
    val level = levelOf(m)
    level.foreach { l =>
      l.progress.started(task, warmUp.since(executor, now))
      running(task) = Running(l, executor, warmUp.isWarm(executor))
    }
    level.flatMap(l => held.take(executor, l.kind, l.name)).foreach { h =>
      (if (h.kept) metrics.reused else metrics.bound).inc()
      levels.used(h.grant.level)
      backend.foreach(_.send(executor, Bind(h.grant.id, task)))
    }
  }

  /** The task has run to its end; its result may still have to be fetched. */
  def fetching(m: TaskSetManager, index: Int): Unit = levelOf(m).foreach(_.demand.finished(index))

  def ended(task: Long, now: Long, successful: Boolean): Unit = running.remove(task).foreach { r =>
    if (successful) warmUp.done(r.executor)
    r.level.progress.ended(task, now, successful && r.warm).foreach { nanos =>
      r.level.key.foreach(classes.history.took(_, nanos))
    }
  }

  /** Returns the executor's remaining grants immediately after its offer. */
  def releaseAll(executor: String, now: Long): Unit = release(executor, held.takeAll(executor), now)

  /** Releases the grants of executors that are not offered any more. */
  def releaseOld(now: Long): Unit =
    held.takeOlder(now - OldNanos).groupBy(_._1).foreach { case (executor, old) =>
      release(executor, old.map(_._2), now)
    }

  private def release(executor: String, unused: Seq[Held], now: Long): Unit = if (unused.nonEmpty) {
    unused.filterNot(_.kept).foreach { h =>
      metrics.declined.inc()
      levels.declined(h.grant.level, now)
    }
    backend.foreach(_.send(executor, Release(unused.map(_.grant.id).toList)))
  }

  /** Moves stages that have turned out to be long to the long class. */
  def demote(now: Long): Unit = stages.valuesIterator.toList.foreach { level =>
    val before = level.name
    if (level.demoted(now, cutoff)) {
      logInfo(s"${level.description.title} is long from now on: ${level.choice.why}")
      levels.remove(before)
      put(level)
    }
  }

  /** Sends the present demand to the cluster if it has changed enough. */
  def update(taskSets: Seq[TaskSetManager], hosts: Iterable[String], now: Long): Unit = {
    val pending = mutable.HashMap[String, Int]().withDefaultValue(0)
    taskSets.foreach { m =>
      levelOf(m).foreach(l => pending(l.name) += l.demand.of(m, hosts))
    }
    levels.updateTotals(pending, held.count, now)
    val states = levels.states
    waits.wanted(states, now)
    if (throttle.shouldSend(states, now)) backend.foreach(_.updateLevels(states))
    waits.tooLong(now).foreach { case (level, seconds) =>
      backend.foreach(_.warnWaiting(level, seconds))
    }
  }

  private def cutoff: Long =
    settings.cutoffNanos.orElse(
      backend.map(_.cutoffNanos).filter(_ > 0)).getOrElse(DefaultCutoffNanos)
}

private[spark] object Demand {

  /** The scheduler backend as demand uses it; no method blocks. */
  trait Backend {
    def updateLevels(levels: Seq[LevelState]): Unit
    def send(executor: String, message: Any): Unit

    /** The cluster's own boundary between short and long; 0 if it is not known. */
    def cutoffNanos: Long

    /** Warns the user that a level has had no grant for that many seconds. */
    def warnWaiting(level: String, seconds: Long): Unit
  }

  private final case class Running(level: StageLevel, executor: String, warm: Boolean)

  val DefaultCutoffNanos: Long = 1000L * 1000 * 1000

  /** A grant that has not been offered to Spark for this long is returned. */
  val OldNanos: Long = 2L * 1000 * 1000 * 1000
}
