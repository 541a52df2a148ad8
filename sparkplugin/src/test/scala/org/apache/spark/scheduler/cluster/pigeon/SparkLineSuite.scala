package org.apache.spark.scheduler.cluster.pigeon

import scala.util.Try

import org.scalatest.funsuite.AnyFunSuite

class SparkLineSuite extends AnyFunSuite {

  private def refusal(version: String): String =
    intercept[IllegalStateException](SparkLine.check(version)).getMessage

  test("the running line of Spark is served") {
    SparkLine.check(SparkLine.running())
  }

  test("a line of a version has two numbers") {
    assert(Seq("4.1.3", "4.1.3-SNAPSHOT", "4.1-rc1").map(SparkLine.of).toSet == Set("4.1"))
  }

  test("another line is refused with the versions to use") {
    Seq("3.4.1", "5.0.0").foreach { v =>
      assert(refusal(v).contains(s"does not serve Spark $v") && refusal(v).contains("Use Spark"))
    }
  }

  test("a line with another jar is refused with that jar's name") {
    val (served, others) = Seq(
      "3.5.9" -> "pigeon-spark-3.5_2.12.jar",
      "4.2.1" -> "pigeon-spark-4_2.13.jar",
      "4.3.0" -> "pigeon-spark-4.3_2.13.jar").partition { case (v, _) =>
      Try(SparkLine.check(v)).isSuccess
    }
    assert(served.size == 1, "one jar serves each line")
    others.foreach { case (v, jar) => assert(refusal(v).contains(jar)) }
  }
}
