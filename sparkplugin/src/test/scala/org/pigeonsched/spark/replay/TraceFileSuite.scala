package org.pigeonsched.spark.replay

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.Refusal

class TraceFileSuite extends AnyFunSuite {

  test("a line is a job, whatever the white space") {
    val job = TraceFile.parse(" 1.5\t2  0.75 0.5 1.0\r", 7, "file f")
    assert(job.line == 7 && job.submitted == 1.5 && job.mean == 0.75 && job.durations.toSeq == Seq(0.5, 1.0))
  }

  Seq(
    "1 1 1" -> "3 fields",
    "1 2 1 1" -> "1 durations for 2 tasks",
    "1 1 1 1 1" -> "2 durations for 1 tasks",
    "1 0 1 1" -> "'0' tasks",
    "1 1.5 1 1" -> "'1.5' tasks",
    "1 1e9 1 1" -> "'1e9' tasks",
    "x 1 1 1" -> "field 1 is 'x'",
    "-1 1 1 1" -> "field 1 is '-1'",
    "1 1 1 NaN" -> "field 4 is 'NaN'",
    "1 1 Infinity 1" -> "field 3 is 'Infinity'"
  ).foreach { case (text, why) =>
    test(s"[$text] is refused") {
      val e = intercept[Refusal](TraceFile.parse(text, 3, "file f"))
      assert(e.what.contains(why) && e.subject == "file f, line 3")
    }
  }
}
