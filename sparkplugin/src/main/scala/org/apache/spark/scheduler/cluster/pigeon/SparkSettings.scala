package org.apache.spark.scheduler.cluster.pigeon

import scala.util.Try

import org.apache.spark.SparkConf

import org.pigeonsched.spark.Refusal

/** The settings of Spark that Pigeon reads, of which Spark itself accepts any number. */
private[spark] object SparkSettings {

  /** Throws a Refusal that names a setting with which no task could ever run. */
  def check(conf: SparkConf): Unit = {
    atLeast(1, "spark.task.cpus", conf)
    atLeast(0, "spark.executor.instances", conf)
  }

  private def atLeast(least: Int, setting: String, conf: SparkConf): Unit =
    conf.getOption(setting).foreach { text =>
      if (!Try(text.trim.toInt).toOption.exists(_ >= least)) throw new Refusal(
        s"'${text.take(100)}' cannot be used",
        s"setting $setting",
        s"it must be a whole number from $least to ${Int.MaxValue}",
        "correct it, or leave it out")
    }
}
