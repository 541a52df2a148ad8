package org.pigeonsched.spark

import java.util.concurrent.TimeUnit

import scala.concurrent.duration._

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.{SparkConf, SparkContext}

import org.pigeonsched.spark.link.{FakeFrontend, Wanted}

/** What the cluster receives when an application requests executors from Spark itself. */
class ExecutorRequestsSuite extends AnyFunSuite {

  // Runs a context with a frontend that starts nothing.
  private def received(settings: (String, String)*)(request: SparkContext => Unit)(
      expected: Int*): Unit = {
    val frontend = new FakeFrontend().start()
    val conf = new SparkConf(false).setAll(Seq(
      "spark.master" -> s"spark-pigeon://${frontend.address}",
      "spark.app.name" -> "requests",
      "spark.ui.enabled" -> "false",
      "spark.driver.host" -> "127.0.0.1",
      "spark.pigeon.executor.classPath" -> "nothing runs",
      "spark.testing.memory" -> "600000000")
      ++ settings)
    try {
      val sc = new SparkContext(conf)
      try {
        request(sc)
        expected.foreach(n => assert(await(frontend, n)))
      } finally sc.stop()
    } finally frontend.close()
  }

  // Reports whether the frontend receives the number, possibly after others.
  private def await(frontend: FakeFrontend, executors: Int): Boolean = {
    val end = 60.seconds.fromNow
    Iterator.continually(Option(frontend.executors.poll(1, TimeUnit.SECONDS)))
      .takeWhile(_ => end.hasTimeLeft()).exists(_.contains(executors))
  }

  test("a request for one more adds to the initial number") {
    received("spark.executor.instances" -> "2")(sc => assert(sc.requestExecutors(1)))(3)
  }

  test("without a request the settings decide") {
    received("spark.executor.instances" -> "2")(_ => ())(2)
    received()(_ => ())(Wanted.Everywhere)
  }
}
