package org.apache.spark

import scala.util.matching.Regex

/**
 * Replaces Spark's object of this name, because it comes first on the class path: no master URL is
 * Spark's own local-cluster, so local-cluster[n,c,m] is left to another cluster manager, which is
 * LocalClusterManager. Spark's classes and Spark's tests stay as they are.
 */
private[spark] object SparkMasterRegex {

  val LOCAL_N_REGEX: Regex = """local\[([0-9]+|\*)]""".r
  val LOCAL_N_FAILURES_REGEX: Regex = """local\[([0-9]+|\*)\s*,\s*([0-9]+)]""".r
  val SPARK_REGEX: Regex = "spark://(.*)".r
  val KUBERNETES_REGEX: Regex = "k8s://(.*)".r

  /** Three groups, as callers expect, and no text that it matches. */
  val LOCAL_CLUSTER_REGEX: Regex = "(?!)(.)(.)(.)".r

  def isK8s(master: String): Boolean = isK8s(Option(master))

  def isK8s(master: Option[String]): Boolean = master.exists(_.startsWith("k8s://"))
}
