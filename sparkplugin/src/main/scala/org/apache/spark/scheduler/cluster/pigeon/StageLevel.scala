package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.scheduler.TaskSet

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.classes.{ClassChoice, Progress}
import org.pigeonsched.spark.classes.ClassChoice.Choice
import org.pigeonsched.spark.grants.Levels.Description

/**
 * A stage attempt as a level: its class, and what its tasks took so far.
 *
 * A stage that is demoted goes on as another level, because grants of the first one may be for
 * slots that long work must not have.
 *
 * Used under the task scheduler's lock alone.
 */
private[spark] final class StageLevel(taskSet: TaskSet, title: String, val key: Option[String], first: Choice) {

  val progress = new Progress
  val demand = new StageDemand
  private var chosen = first
  private var lookedAt: Option[Long] = None

  def choice: Choice = chosen

  def name: String = s"${taskSet.stageId}.${taskSet.stageAttemptId}-${chosen.jobClass}"

  def description: Description =
    Description(name, chosen.jobClass, chosen.estimateNanos, hosts, title, chosen.why)

  /** True if the stage has just shown that it is long. Looks now and then only: this is asked at every offer. */
  def demoted(now: Long, cutoffNanos: Long): Boolean = {
    val may = chosen.derived && chosen.jobClass == JobClass.Short && lookedAt.forall(now - _ >= StageLevel.LookNanos)
    if (may) lookedAt = Some(now)
    may && progress.median(now).filter(_ > cutoffNanos).exists { median =>
      chosen = ClassChoice.demoted(median, progress.samples(now), cutoffNanos)
      true
    }
  }

  // Where most of its tasks would like to run.
  private lazy val hosts: Seq[String] =
    taskSet.tasks.iterator.take(StageLevel.Looked).flatMap(_.preferredLocations).map(_.host).toList
      .groupBy(identity).toList.sortBy { case (host, times) => (-times.size, host) }
      .map(_._1).take(StageLevel.MaxHosts)
}

private[spark] object StageLevel {
  /** Bounds on the hint: tasks looked at, hosts named. */
  val Looked = 1024
  val MaxHosts = 16
  /** Between two looks at what a stage's tasks take. */
  val LookNanos: Long = 50L * 1000 * 1000
}
