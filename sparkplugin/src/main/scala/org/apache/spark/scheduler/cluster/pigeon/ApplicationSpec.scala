package org.apache.spark.scheduler.cluster.pigeon

import java.security.SecureRandom

import org.apache.spark.{SparkConf, SparkContext}

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.spark.link.{ApplicationLink, Frontends, ShippedFile, Text, Wanted}
import org.pigeonsched.thrift.application.TApplication

/** The description of a Spark application that the cluster receives. */
private[spark] object ApplicationSpec {

  /** The daemons accept no longer name. */
  val MaxNameBytes = 256

  private val random = new SecureRandom

  def freshId(): String =
    f"spark-${System.currentTimeMillis()}-${random.nextInt() & 0xffffffffL}%08x"

  /**
   * Returns the initial number of executors: from dynamic allocation or the settings, else one on
   * every node.
   */
  def executors(conf: SparkConf): Int =
    if (conf.getBoolean("spark.dynamicAllocation.enabled", false)) {
      val least = conf.getInt("spark.dynamicAllocation.minExecutors", 0)
      Seq(
        least,
        conf.getInt("spark.dynamicAllocation.initialExecutors", least),
        conf.getInt("spark.executor.instances", 0)).max
    } else conf.getInt("spark.executor.instances", Wanted.Everywhere)

  def link(
      sc: SparkContext,
      settings: Settings,
      id: String,
      frontends: Seq[Address],
      listener: ApplicationLink.Listener): ApplicationLink = {
    val files = if (settings.grants) pluginFile(settings).toList else Nil
    val template = new ExecutorTemplate(sc, settings, files.headOption).build()
    val application = new TApplication(
      id,
      Text.clipped(sc.appName, MaxNameBytes),
      sc.sparkUser,
      random.nextLong() & Long.MaxValue,
      settings.grants,
      "")
    application.setTemplate(template)
    settings.owner.foreach(application.setOwner(_))
    sc.uiWebUrl.foreach(application.setPage(_))
    new ApplicationLink(
      application,
      files,
      new Frontends(frontends),
      listener,
      settings.security)
  }

  // In tests the classes are in folders, and executors have a class path set.
  private def pluginFile(settings: Settings): Option[ShippedFile] = {
    val jar = SparkHome.jarOf(getClass)
    if (jar.isEmpty && settings.classPath.isEmpty) throw new Refusal(
      "the jar of Pigeon's plugin cannot be sent to the nodes",
      s"class ${getClass.getName}",
      "it was not loaded from a jar file",
      s"load the plugin from its jar (--jars or --driver-class-path), or set ${Settings.ClassPath}")
    jar.map(ShippedFile.of("pigeon-spark.jar", _))
  }
}
