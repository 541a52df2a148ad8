package org.pigeonsched.spark.classes

import org.pigeonsched.spark.JobClass

/**
 * The class of a stage: the first that says something of the job's local property, its pool's
 * setting, the application's setting, an estimate somebody gave, what earlier runs took; else
 * short.
 */
object ClassChoice {

  val Property = "spark.pigeon.class"
  val Estimate = "spark.pigeon.estimate"

  def poolSetting(pool: String): String = s"spark.pigeon.pool.$pool.class"

  /**
   * What there is to decide by. Names of classes are as the user wrote them.
   *
   * @param estimateNanos of one task, given by the user; 0 if not
   * @param history       of one task, the median of earlier runs, and of how many tasks
   */
  final case class Facts(
      property: Option[String],
      pool: Option[String],
      poolClass: Option[String],
      application: Option[String],
      estimateNanos: Long,
      history: Option[(Long, Int)],
      cutoffNanos: Long)

  /**
   * @param estimateNanos 0 if nothing is known
   * @param derived       found by durations, so longer ones may change it
   * @param why           for people
   */
  final case class Choice(jobClass: JobClass, estimateNanos: Long, derived: Boolean, why: String)

  /** Throws a Refusal that names the setting when a class has no such name. */
  def choose(f: Facts): Choice = {
    val estimate = if (f.estimateNanos > 0) f.estimateNanos else f.history.fold(0L)(_._1)
    def said(name: String, setting: String, who: String) =
      Choice(JobClass.of(name, setting), estimate, derived = false, s"$who says so ($setting)")
    f.property.map(said(_, Property, "a local property of the job"))
      .orElse(f.poolClass.map(said(_, poolSetting(f.pool.getOrElse("default")), "its pool")))
      .orElse(f.application.map(said(_, Property, "the application's configuration")))
      .orElse(if (f.estimateNanos > 0) Some(estimated(f)) else None)
      .orElse(f.history.filter(_._2 >= Progress.LeastSamples).map { case (median, tasks) =>
        remembered(median, tasks, f.cutoffNanos)
      })
      .getOrElse(Choice(JobClass.Short, 0, derived = true, "nothing is known of it yet"))
  }

  /** A stage whose tasks turn out longer than it was taken for. */
  def demoted(medianNanos: Long, tasks: Int, cutoffNanos: Long): Choice =
    Choice(JobClass.Long, medianNanos, derived = false,
      s"$tasks of its tasks took ${millis(medianNanos)} so far, more than the cutoff of ${millis(cutoffNanos)}")

  private def estimated(f: Facts): Choice = {
    val jobClass = JobClass.byEstimate(f.estimateNanos, f.cutoffNanos)
    Choice(jobClass, f.estimateNanos, derived = false,
      s"estimated at ${millis(f.estimateNanos)} by $Estimate, the cutoff is ${millis(f.cutoffNanos)}")
  }

  private def remembered(median: Long, tasks: Int, cutoff: Long): Choice =
    Choice(JobClass.byEstimate(median, cutoff), median, derived = true,
      s"$tasks tasks of earlier runs took ${millis(median)}, the cutoff is ${millis(cutoff)}")

  private def millis(nanos: Long): String = s"${nanos / 1000000} ms"
}
