package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.scheduler.TaskSet

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.classes.{ClassChoice, Progress}
import org.pigeonsched.spark.classes.ClassChoice.Choice
import org.pigeonsched.spark.grants.Kind
import org.pigeonsched.spark.grants.Levels.Description

/**
 * A stage attempt as a level: its class, owner and priority, and the durations of its tasks so far.
 *
 * A stage that is demoted continues as another level, because grants of the first one may be for
 * slots that long work must not use.
 *
 * Used only under the task scheduler's lock.
 */
private[spark] final class StageLevel(
    taskSet: TaskSet,
    title: String,
    val key: Option[String],
    first: Choice,
    owner: String,
    priority: Int) {

  val progress = new Progress
  val demand = new StageDemand
  private var chosen = first
  private var checkedAt: Option[Long] = None

  def choice: Choice = chosen

  def kind: Kind = Kind(chosen.jobClass, owner, priority)

  def name: String = s"${taskSet.stageId}.${taskSet.stageAttemptId}-${chosen.jobClass}"

  def description: Description =
    Description(name, kind, chosen.estimateNanos, hosts, title, chosen.why)

  /**
   * Reports whether the stage has just turned out to be long. Checks only from time to time,
   * because it is called at every offer.
   */
  def demoted(now: Long, cutoffNanos: Long): Boolean = {
    val may = chosen.derived && chosen.jobClass == JobClass.Short && checkedAt.forall(
      now - _ >= StageLevel.CheckIntervalNanos)
    if (may) checkedAt = Some(now)
    may && progress.median(now).filter(_ > cutoffNanos).exists { median =>
      chosen = ClassChoice.demoted(median, progress.samples(now), cutoffNanos)
      true
    }
  }

  // The hosts that most of its tasks prefer.
  private lazy val hosts: Seq[String] =
    taskSet.tasks.iterator.take(
      StageLevel.MaxSampledTasks).flatMap(_.preferredLocations).map(_.host).toList
      .groupBy(identity).toList.sortBy { case (host, times) => (-times.size, host) }
      .map(_._1).take(StageLevel.MaxHosts)
}

private[spark] object StageLevel {

  /** Bounds on the hint: tasks examined, hosts named. */
  val MaxSampledTasks = 1024
  val MaxHosts = 16

  /** The interval between two checks of a stage's durations. */
  val CheckIntervalNanos: Long = 50L * 1000 * 1000
}
