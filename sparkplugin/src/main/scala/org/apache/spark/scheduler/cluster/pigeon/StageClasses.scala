package org.apache.spark.scheduler.cluster.pigeon

import java.util.Properties

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.scheduler.{Stage, TaskSet}

import org.pigeonsched.spark.{Owner, Priority}
import org.pigeonsched.spark.classes.{ClassChoice, History}
import org.pigeonsched.spark.classes.ClassChoice.Facts

/**
 * Chooses the class of each stage attempt, by ClassChoice and by the durations measured here, and
 * finds its owner and priority, which are those of the job that submitted it.
 */
private[spark] final class StageClasses(sc: SparkContext, settings: Settings, cutoff: () => Long) {

  val history = new History

  /**
   * Throws a Refusal when a local property is no class, no estimate or no priority. Called by the
   * thread of Spark's DAG scheduler.
   */
  def level(taskSet: TaskSet): StageLevel = {
    val stage = sc.dagScheduler.stageIdToStage.get(taskSet.stageId)
    val key = stage.map(StageKey.of)
    new StageLevel(
      taskSet,
      title(taskSet, stage),
      key,
      ClassChoice.choose(facts(taskSet, key)),
      owner(pool(taskSet)),
      property(taskSet.properties, Priority.Property).fold(settings.priority)(Priority.of))
  }

  private def pool(taskSet: TaskSet): Option[String] =
    property(taskSet.properties, SparkContext.SPARK_SCHEDULER_POOL)

  // Empty for the application's own, also where a pool names the same.
  private def owner(pool: Option[String]): String = {
    val setting = Owner.poolSetting(pool.getOrElse("default"))
    sc.conf.getOption(setting).map(Owner.of(_, setting))
      .filter(_ != settings.owner.getOrElse(sc.sparkUser)).getOrElse("")
  }

  private def facts(taskSet: TaskSet, key: Option[String]): Facts = {
    val from = pool(taskSet)
    Facts(
      property = property(taskSet.properties, ClassChoice.Property),
      pool = from,
      poolClass = sc.conf.getOption(ClassChoice.poolSetting(from.getOrElse("default"))),
      application = settings.jobClass,
      estimateNanos = estimate(property(taskSet.properties, ClassChoice.Estimate), sc.conf),
      history = key.flatMap(history.estimate),
      cutoffNanos = cutoff())
  }

  // Spark passes on the local properties of the submitting thread, including those inherited from
  // its parents.
  private def property(properties: Properties, name: String): Option[String] =
    Option(properties).flatMap(p => Option(p.getProperty(name))).map(_.trim).filter(_.nonEmpty)

  private def estimate(local: Option[String], conf: SparkConf): Long =
    local.orElse(conf.getOption(ClassChoice.Estimate))
      .fold(0L)(Settings.nanos(_, ClassChoice.Estimate, Settings.EstimateForm))

  private def title(taskSet: TaskSet, stage: Option[Stage]): String = {
    val called = stage.fold("")(s => s" (${s.name})")
    s"stage ${taskSet.stageId}.${taskSet.stageAttemptId}$called of job ${taskSet.priority}," +
      s" ${taskSet.tasks.length} tasks"
  }
}
