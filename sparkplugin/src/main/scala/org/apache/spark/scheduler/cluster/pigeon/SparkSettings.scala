package org.apache.spark.scheduler.cluster.pigeon

import scala.util.Try

import org.apache.spark.SparkConf

import org.pigeonsched.spark.Refusal

/** The settings of Spark that Pigeon reads, of which Spark itself accepts any number. */
private[spark] object SparkSettings {

  private val TaskCpus = "spark.task.cpus"
  private val Resource = """^spark\.(executor|task)\.resource\..+""".r
  private val Whole = s"it must be a whole number from %s to ${Int.MaxValue}"

  /** Throws a Refusal that names a setting with which no task could ever run. */
  def check(conf: SparkConf, grants: Boolean): Unit = {
    conf.getOption("spark.executor.instances").foreach(text =>
      if (!whole(text).exists(_ >= 0)) unusable(text, "spark.executor.instances", Whole.format(0)))
    conf.getOption(TaskCpus).foreach(checkTaskCpus(_, grants))
    checkResources(conf)
  }

  // Each executor would find the devices of its node by its discovery script, and those of two
  // applications the same ones.
  private def checkResources(conf: SparkConf): Unit =
    conf.getAll.map(_._1).sorted.find(Resource.findFirstIn(_).isDefined).foreach(key =>
      unusable(
        conf.get(key),
        key,
        "Pigeon's nodes do not count devices, and would give the same ones to two applications",
        "leave it out, or run the application on a cluster manager that counts devices"))

  /** Returns the cores of an executor that a task counts as: a grant serves one task. */
  def coresPerTask(conf: SparkConf): Int =
    conf.getOption(TaskCpus).flatMap(decimal).fold(1)(
      _.setScale(0, BigDecimal.RoundingMode.CEILING).toInt)

  private def checkTaskCpus(text: String, grants: Boolean): Unit =
    if (!SparkShim.decimalCpus) {
      if (!whole(text).exists(_ >= 1)) unusable(text, TaskCpus, Whole.format(1))
    } else if (!decimal(text).exists(c => c > 0 && c <= Int.MaxValue)) {
      unusable(text, TaskCpus, s"it must be a number above 0, ${Int.MaxValue} at most")
    } else if (grants && decimal(text).exists(_ < 1)) unusable(
      text,
      TaskCpus,
      "a task has a slot of its own in mode grants, so it has one processor at least",
      s"set it to 1 or more, or set ${Settings.Mode}=coarse, in which executors hold their slots")

  private def whole(text: String): Option[Int] = Try(text.trim.toInt).toOption

  private def decimal(text: String): Option[BigDecimal] = Try(BigDecimal(text.trim)).toOption

  private def unusable(
      text: String,
      setting: String,
      why: String,
      next: String = "correct it, or leave it out"): Nothing =
    throw new Refusal(s"'${text.take(100)}' cannot be used", s"setting $setting", why, next)
}
