package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.mutable

import org.slf4j.LoggerFactory

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{TaskSet, TaskSetManager}

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.classes.WarmUp
import org.pigeonsched.spark.grants.{Grant, HeldGrants, Levels, Telling}
import org.pigeonsched.spark.grants.HeldGrants.Held
import org.pigeonsched.spark.grants.Levels.Told

/**
 * What the application wants and holds: its levels, its unbound grants, and the tasks that run.
 *
 * Every method is called under the task scheduler's lock; none calls back into Spark's schedulers
 * or waits for anything.
 */
private[spark] final class Demand(sc: SparkContext, settings: Settings) {
  import Demand._

  private val log = LoggerFactory.getLogger(getClass)

  private val held = new HeldGrants
  private val levels = new Levels
  private val waits = new GrantWaits
  private val classes = new StageClasses(sc, settings, () => cutoff)
  private val stages = mutable.HashMap[(Int, Int), StageLevel]()
  private val running = mutable.HashMap[Long, Running]()
  private val warmUp = new WarmUp

  private var outlet: Option[Outlet] = None
  private val telling = new Telling

  val metrics = new GrantMetrics(() => held.size, () => telling.last.map(_.outstanding).sum)

  /** Where demand goes, and executors are reached. */
  def connect(o: Outlet): Unit = outlet = Some(o)

  /** A stage attempt begins. Throws a Refusal when its class is none. */
  def submitted(taskSet: TaskSet): Unit = {
    val level = classes.level(taskSet)
    stages((taskSet.stageId, taskSet.stageAttemptId)) = level
    levels.put(level.description)
  }

  /** It is over, or never was. */
  def finished(stage: Int, attempt: Int): Unit =
    stages.remove((stage, attempt)).foreach(level => levels.remove(level.name))

  def classOf(m: TaskSetManager): JobClass = levelOf(m).fold[JobClass](JobClass.Short)(_.choice.jobClass)

  private def levelOf(m: TaskSetManager): Option[StageLevel] =
    stages.get((m.taskSet.stageId, m.taskSet.stageAttemptId))

  def arrived(executor: String, grants: Seq[Grant], now: Long): Unit =
    grants.filter(g => held.arrived(executor, Held(g, now, kept = false))).foreach { g =>
      metrics.arrived.inc()
      levels.arrived(g.level)
      waits.arrived(g.level, now).foreach(nanos => metrics.waited.update(nanos / 1000))
    }

  def kept(executor: String, grant: Grant, now: Long): Unit = held.arrived(executor, Held(grant, now, kept = true))

  def expired(executor: String, ids: Seq[String]): Unit = {
    ids.foreach(held.forget(executor, _))
    metrics.expired.inc(ids.size.toLong)
  }

  /** Nobody tells the end of the tasks that ran there: they must not count as running for ever. */
  def executorLost(executor: String, now: Long): Unit = {
    held.takeAll(executor)
    warmUp.lost(executor)
    running.iterator.filter(_._2.executor == executor).map(_._1).toList.foreach(ended(_, now, successful = false))
  }

  def count(executor: String, jobClass: JobClass): Int = held.count(executor, jobClass)

  /** Spark chose a task for the executor: it takes a grant of its class, which is held. */
  def bind(executor: String, task: Long, m: TaskSetManager, now: Long): Unit = {
    val level = levelOf(m)
    level.foreach { l =>
      l.progress.started(task, warmUp.since(executor, now))
      running(task) = Running(l, executor)
    }
    held.take(executor, classOf(m), level.fold("")(_.name)).foreach { h =>
      (if (h.kept) metrics.reused else metrics.bound).inc()
      levels.used(h.grant.level)
      outlet.foreach(_.send(executor, Bind(h.grant.id, task)))
    }
  }

  /** The task has run to its end; its result may still have to be fetched. */
  def fetching(m: TaskSetManager, index: Int): Unit = levelOf(m).foreach(_.demand.finished(index))

  def ended(task: Long, now: Long, successful: Boolean): Unit = running.remove(task).foreach { r =>
    if (successful) warmUp.done(r.executor)
    r.level.progress.ended(task, now, successful).foreach { nanos =>
      r.level.key.foreach(classes.history.took(_, nanos))
    }
  }

  /** What is left of an executor's grants after its offer goes back at once. */
  def releaseAll(executor: String, now: Long): Unit = release(executor, held.takeAll(executor), now)

  /** Grants of executors that are not offered any more. */
  def releaseOld(now: Long): Unit =
    held.takeOlder(now - OldNanos).groupBy(_._1).foreach { case (executor, old) => release(executor, old.map(_._2), now) }

  private def release(executor: String, unused: Seq[Held], now: Long): Unit = if (unused.nonEmpty) {
    unused.filterNot(_.kept).foreach { h =>
      metrics.declined.inc()
      levels.declined(h.grant.level, now)
    }
    outlet.foreach(_.send(executor, Release(unused.map(_.grant.id).toList)))
  }

  /** Stages that have shown to be long go on as long ones. */
  def demote(now: Long): Unit = stages.valuesIterator.toList.foreach { level =>
    val before = level.name
    if (level.demoted(now, cutoff)) {
      log.info(s"${level.description.title} is long from now on: ${level.choice.why}")
      levels.remove(before)
      levels.put(level.description)
    }
  }

  /** Tells the cluster what is wanted now, if it changed in a way that matters. */
  def settle(taskSets: Seq[TaskSetManager], hosts: Iterable[String], now: Long): Unit = {
    val pending = mutable.HashMap[String, Int]().withDefaultValue(0)
    taskSets.foreach { m =>
      levelOf(m).foreach(l => pending(l.name) += l.demand.of(m, hosts))
    }
    levels.settle(pending, held.count, now)
    val told = levels.told
    waits.wanted(told, now)
    if (telling.due(told, now)) outlet.foreach(_.want(told))
    waits.tooLong(now).foreach { case (level, seconds) => outlet.foreach(_.waitsLong(level, seconds)) }
  }

  private def cutoff: Long =
    settings.cutoffNanos.orElse(outlet.map(_.cutoffNanos).filter(_ > 0)).getOrElse(DefaultCutoffNanos)
}

private[spark] object Demand {

  /** Demand and answers leave by here; nothing of it blocks. */
  trait Outlet {
    def want(levels: Seq[Told]): Unit
    def send(executor: String, message: Any): Unit
    /** The cluster's own boundary between short and long; 0 if it is not known. */
    def cutoffNanos: Long
    /** For the user's eyes: a level has had no grant for so many seconds. */
    def waitsLong(level: String, seconds: Long): Unit
  }

  private final case class Running(level: StageLevel, executor: String)

  val DefaultCutoffNanos: Long = 1000L * 1000 * 1000
  /** A grant not offered to Spark for so long is given back. */
  val OldNanos: Long = 2L * 1000 * 1000 * 1000
}
