package org.apache.spark.scheduler.cluster.pigeon

import org.apache.hadoop.security.UserGroupInformation

/** What users of a Hadoop with Kerberos must know: the plugin distributes no delegation tokens. */
private[spark] object HadoopSecurity {

  /** None unless the configuration of Hadoop turns security on. */
  def warning: Option[String] =
    if (!UserGroupInformation.isSecurityEnabled) None
    else Some(
      "Hadoop security (Kerberos) is on, and executors on Pigeon receive no delegation tokens:" +
        " only the driver can use HDFS, HBase, Hive and other services that require them, and" +
        " tasks that do so fail. Let tasks read from storage with credentials of its own, or run" +
        " this application on YARN or Kubernetes.")
}
