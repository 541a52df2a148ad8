package org.apache.spark.scheduler.cluster.pigeon

import java.io.File

import org.apache.spark.{SPARK_VERSION, SparkContext}

import org.pigeonsched.spark.Refusal

/** Where the driver's own Spark lies; executors look there when their node has no other one. */
private[spark] object SparkHome {

  /** The file by which an installation shows that it is the driver's version and Scala. */
  def mark: String = s"jars/${coreJar.map(_.getName).getOrElse(s"spark-core_$scalaBinary-$SPARK_VERSION.jar")}"

  /** Throws a Refusal when there is no way to know. */
  def find(settings: Settings): String =
    settings.sparkHome
      .orElse(coreJar.map(_.getParentFile).filter(_.getName == "jars").map(_.getParent))
      .orElse(sys.env.get("SPARK_HOME"))
      .getOrElse(throw new Refusal(
        "it is not known where Spark lies on the nodes", s"setting ${Settings.SparkHome}",
        "the driver's spark-core jar lies in no folder 'jars', and SPARK_HOME is not set",
        s"set ${Settings.SparkHome} to an installation of Spark $SPARK_VERSION on the nodes, or" +
          s" ${Settings.ClassPath} to the jars of the executors"))

  /** The jar that holds this class, if it is a jar. */
  def jarOf(c: Class[_]): Option[File] =
    Option(c.getProtectionDomain.getCodeSource).flatMap(s => Option(s.getLocation))
      .filter(_.getProtocol == "file").map(url => new File(url.toURI)).filter(_.isFile)

  private def coreJar: Option[File] = jarOf(classOf[SparkContext])

  private def scalaBinary: String = scala.util.Properties.versionNumberString.split('.').take(2).mkString(".")
}
