package org.pigeonsched.spark.classes

import org.pigeonsched.spark.JobClass

/**
 * Chooses the class of a stage. The first of these that is set decides: the job's local property
 * (which in SQL is what the session sets), the setting of its pool, the setting of the application,
 * an estimate given by the user, the durations of earlier runs; else it is short.
 */
object ClassChoice {

  val Property = "spark.pigeon.class"
  val Estimate = "spark.pigeon.estimate"

  def poolSetting(pool: String): String = s"spark.pigeon.pool.$pool.class"

  /**
   * The inputs of the choice. Names of classes are as the user wrote them.
   *
   * @param estimateNanos of one task, given by the user; 0 if not given
   * @param history       the median of one task in earlier runs, and the number of tasks it is
   *                      based on
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
   * @param derived       based on durations, so longer ones may change it
   * @param why           for users
   */
  final case class Choice(jobClass: JobClass, estimateNanos: Long, derived: Boolean, why: String)

  /** Throws a Refusal that names the setting when a class has no such name. */
  def choose(f: Facts): Choice = {
    val estimate = if (f.estimateNanos > 0) f.estimateNanos else f.history.fold(0L)(_._1)
    def configured(name: String, setting: String, source: String) =
      Choice(JobClass.of(name, setting), estimate, derived = false, s"$source sets it ($setting)")
    f.property.map(configured(_, Property, "the job's thread or session"))
      .orElse(f.poolClass.map(configured(_, poolSetting(f.pool.getOrElse("default")), "its pool")))
      .orElse(f.application.map(configured(_, Property, "the application's configuration")))
      .orElse(if (f.estimateNanos > 0) Some(estimated(f)) else None)
      .orElse(f.history.filter(_._2 >= Progress.MinSamples).map { case (median, tasks) =>
        remembered(median, tasks, f.cutoffNanos)
      })
      .getOrElse(Choice(JobClass.Short, 0, derived = true, "nothing is known of it yet"))
  }

  /** The choice for a stage whose tasks turn out longer than expected. */
  def demoted(medianNanos: Long, tasks: Int, cutoffNanos: Long): Choice =
    Choice(
      JobClass.Long,
      medianNanos,
      derived = false,
      s"$tasks of its tasks took ${millis(medianNanos)} so far," +
        s" more than the cutoff of ${millis(cutoffNanos)}")

  private def estimated(f: Facts): Choice = {
    val jobClass = JobClass.byEstimate(f.estimateNanos, f.cutoffNanos)
    Choice(
      jobClass,
      f.estimateNanos,
      derived = false,
      s"estimated at ${millis(f.estimateNanos)} by $Estimate," +
        s" the cutoff is ${millis(f.cutoffNanos)}")
  }

  private def remembered(median: Long, tasks: Int, cutoff: Long): Choice =
    Choice(
      JobClass.byEstimate(median, cutoff),
      median,
      derived = true,
      s"$tasks tasks of earlier runs took ${millis(median)}, the cutoff is ${millis(cutoff)}")

  private def millis(nanos: Long): String = s"${nanos / 1000000} ms"
}
