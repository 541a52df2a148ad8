package org.apache.spark.scheduler.cluster.pigeon

import org.scalatest.funsuite.AnyFunSuite

class SparkLineSuite extends AnyFunSuite {

  private def said(version: String, mode: String): String =
    intercept[IllegalStateException](SparkLine.check(version, mode)).getMessage

  test("the line around us is served in both modes") {
    Seq("grants", "coarse").foreach(SparkLine.check(SparkLine.running(), _))
  }

  test("a line of a version has two numbers") {
    assert(Seq("4.1.3", "4.1.3-SNAPSHOT", "4.1-rc1").map(SparkLine.of).toSet == Set("4.1"))
  }

  test("another line is refused with what to use") {
    Seq("3.4.1", "5.0.0").foreach { v =>
      assert(said(v, "coarse").contains(s"does not serve Spark $v") && said(
        v,
        "grants").contains("Use Spark"))
    }
  }

  test("4.3 runs in mode coarse, and grants are refused by name") {
    if (SparkLine.of(SparkLine.running()).startsWith("4")) {
      SparkLine.check("4.3.0", "coarse")
      assert(said("4.3.0", "grants").contains("spark.pigeon.mode=coarse"))
    } else assert(said("4.3.0", "coarse").contains("pigeon-spark-4_2.13.jar"))
  }
}
