package org.apache.spark.scheduler.cluster.pigeon

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation
import org.scalatest.funsuite.AnyFunSuite

class HadoopSecuritySuite extends AnyFunSuite {

  // Hadoop wants to know a realm, and calls no server of it before a login.
  private val realm = Seq("java.security.krb5.realm" -> "TEST", "java.security.krb5.kdc" -> "none")

  test("users learn that executors receive no delegation tokens where Hadoop requires them") {
    assert(HadoopSecurity.warning.isEmpty)
    val before = realm.map { case (key, _) => key -> Option(System.getProperty(key)) }
    val secured = new Configuration(false)
    secured.set("hadoop.security.authentication", "kerberos")
    try {
      realm.foreach { case (key, value) => System.setProperty(key, value) }
      UserGroupInformation.setConfiguration(secured)
      assert(HadoopSecurity.warning.exists(_.contains("no delegation tokens")))
    } finally {
      before.foreach { case (key, value) =>
        value.fold(System.clearProperty(key))(System.setProperty(key, _))
      }
      UserGroupInformation.reset()
    }
  }
}
