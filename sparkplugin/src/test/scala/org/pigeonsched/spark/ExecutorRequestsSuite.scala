package org.pigeonsched.spark

import java.util.concurrent.TimeUnit

import scala.concurrent.duration._

import org.apache.spark.{SparkConf, SparkContext}
import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.link.{FakeFrontend, Wanted}

/** What the cluster is told when an application asks Spark for executors by itself. */
class ExecutorRequestsSuite extends AnyFunSuite {

  // A context that works with a frontend, which starts nothing.
  private def told(settings: (String, String)*)(ask: SparkContext => Unit)(expected: Int*): Unit = {
    val frontend = new FakeFrontend().start()
    val conf = new SparkConf(false).setAll(Seq(
      "spark.master" -> s"spark-pigeon://${frontend.address}", "spark.app.name" -> "requests", "spark.ui.enabled" -> "false",
      "spark.driver.host" -> "127.0.0.1", "spark.pigeon.executor.classPath" -> "nothing runs", "spark.testing.memory" -> "600000000")
      ++ settings)
    try {
      val sc = new SparkContext(conf)
      try {
        ask(sc)
        expected.foreach(n => assert(await(frontend, n)))
      } finally sc.stop()
    } finally frontend.close()
  }

  // True when the frontend is told the number, whatever it was told before.
  private def await(frontend: FakeFrontend, executors: Int): Boolean = {
    val end = 60.seconds.fromNow
    Iterator.continually(Option(frontend.executors.poll(1, TimeUnit.SECONDS)))
      .takeWhile(_ => end.hasTimeLeft()).exists(_.contains(executors))
  }

  test("one more is one more than there were at the start") {
    told("spark.executor.instances" -> "2")(sc => assert(sc.requestExecutors(1)))(3)
  }

  test("without a request it is what the settings say") {
    told("spark.executor.instances" -> "2")(_ => ())(2)
    told()(_ => ())(Wanted.Everywhere)
  }
}
