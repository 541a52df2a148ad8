package org.apache.spark.scheduler.cluster.pigeon

import org.scalatest.funsuite.AnyFunSuite

class SparkLineSuite extends AnyFunSuite {

  private def refusal(version: String, mode: String): String =
    intercept[IllegalStateException](SparkLine.check(version, mode)).getMessage

  test("the running line of Spark is served in both modes") {
    Seq("grants", "coarse").foreach(SparkLine.check(SparkLine.running(), _))
  }

  test("a line of a version has two numbers") {
    assert(Seq("4.1.3", "4.1.3-SNAPSHOT", "4.1-rc1").map(SparkLine.of).toSet == Set("4.1"))
  }

  test("another line is refused with the versions to use") {
    Seq("3.4.1", "5.0.0").foreach { v =>
      assert(refusal(v, "coarse").contains(s"does not serve Spark $v"))
      assert(refusal(v, "grants").contains("Use Spark"))
    }
  }

  test("4.3 runs in mode coarse, and grants are refused by name") {
    if (SparkLine.of(SparkLine.running()).startsWith("4")) {
      SparkLine.check("4.3.0", "coarse")
      assert(refusal("4.3.0", "grants").contains("spark.pigeon.mode=coarse"))
    } else assert(refusal("4.3.0", "coarse").contains("pigeon-spark-4_2.13.jar"))
  }
}
