package org.apache.spark.scheduler.cluster.pigeon

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.{SecurityManager, SparkConf}

class ExecutorTemplateSuite extends AnyFunSuite {

  private def conf(settings: (String, String)*): SparkConf =
    new SparkConf(false).setAll(settings)

  test("the address of the driver has one pair of brackets") {
    Seq("[::1]" -> "[::1]:7078", "::1" -> "[::1]:7078", "10.0.0.1" -> "10.0.0.1:7078").foreach {
      case (host, address) =>
        val c = conf("spark.driver.host" -> host, "spark.driver.port" -> "7078")
        assert(ExecutorTemplate.driverAddress(c).toString == address)
    }
  }

  test("executors receive the secrets with which they connect to the driver") {
    assert(ExecutorTemplate.secretsOf(new SecurityManager(conf())).isEmpty)
    val secured = conf(
      "spark.authenticate" -> "true",
      "spark.authenticate.secret" -> "s",
      "spark.ssl.rpc.enabled" -> "true",
      "spark.ssl.rpc.keyStore" -> "/keys",
      "spark.ssl.rpc.keyStorePassword" -> "k",
      "spark.ssl.rpc.trustStorePassword" -> "t")
    val secrets = ExecutorTemplate.secretsOf(new SecurityManager(secured)).toMap
    assert(secrets.get("_SPARK_AUTH_SECRET").contains("s"))
    val passwords = secrets.values.toSet - "s"
    val tls = !SparkLine.running().startsWith("3.")
    if (tls) assert(SparkConf.isExecutorStartupConf("spark.ssl.rpc.keyStore"))
    assert(passwords == (if (tls) Set("k", "t") else Set.empty[String]))
  }

  test("executors find the native libraries of spark.executor.extraLibraryPath") {
    val extra = conf("spark.executor.extraLibraryPath" -> "/opt/hadoop/native:/opt/mkl")
    val own = Map("LD_LIBRARY_PATH" -> "/own", "A" -> "b")
    assert(ExecutorTemplate.withLibraryPath(Map.empty, extra) ==
      Map("LD_LIBRARY_PATH" -> "/opt/hadoop/native:/opt/mkl"))
    assert(ExecutorTemplate.withLibraryPath(own, extra) ==
      own + ("LD_LIBRARY_PATH" -> "/opt/hadoop/native:/opt/mkl:/own"))
    assert(ExecutorTemplate.withLibraryPath(own, conf()) == own)
  }
}
