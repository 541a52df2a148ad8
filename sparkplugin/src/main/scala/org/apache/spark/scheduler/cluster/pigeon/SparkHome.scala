package org.apache.spark.scheduler.cluster.pigeon

import java.io.File

import org.apache.spark.{SPARK_VERSION, SparkContext}

import org.pigeonsched.spark.Refusal

/**
 * The installation of the driver's own Spark; executors use the same path when their node has no
 * other one.
 */
private[spark] object SparkHome {

  /** Returns the file that identifies an installation as the driver's version and Scala. */
  def mark: String =
    s"jars/${coreJar.map(_.getName).getOrElse(s"spark-core_$scalaBinary-$SPARK_VERSION.jar")}"

  /** Throws a Refusal when the installation cannot be determined. */
  def find(settings: Settings): String =
    settings.sparkHome
      .orElse(coreJar.map(_.getParentFile).filter(_.getName == "jars").map(_.getParent))
      .orElse(sys.env.get("SPARK_HOME"))
      .getOrElse(throw new Refusal(
        "the path of Spark on the nodes is not known",
        s"setting ${Settings.SparkHome}",
        "the driver's spark-core jar is in no folder 'jars', and SPARK_HOME is not set",
        s"set ${Settings.SparkHome} to an installation of Spark $SPARK_VERSION on the nodes, or" +
          s" ${Settings.ClassPath} to the jars of the executors"))

  /** Returns the jar that contains this class, if it is in a jar. */
  def jarOf(c: Class[_]): Option[File] =
    Option(c.getProtectionDomain.getCodeSource).flatMap(s => Option(s.getLocation))
      .filter(_.getProtocol == "file").map(url => new File(url.toURI)).filter(_.isFile)

  private def coreJar: Option[File] = jarOf(classOf[SparkContext])

  private def scalaBinary: String =
    scala.util.Properties.versionNumberString.split('.').take(2).mkString(".")
}
