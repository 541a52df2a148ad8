package org.pigeonsched.spark.replay

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.{SparkConf, SparkContext}
import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.Refusal

class ReplaySuite extends AnyFunSuite {

  private def job(line: Int, mean: Double, durations: Double*) = TraceJob(line, 0, mean, durations.toArray)

  test("jobs are dealt to the drivers in turn") {
    val all = (1 to 5).map(job(_, 1, 1))
    val o = Options.parse(Seq("--trace", "f", "--drivers", "2", "--driver", "1", "--jobs", "4"))
    assert(Replay.mine(o, all).map(_.line) == Seq(2, 4))
  }

  Seq(
    Seq() -> "--trace is missing",
    Seq("--trace") -> "--trace has no value",
    Seq("--trace", "f", "--speedup", "x") -> "'x' is no value of --speedup",
    Seq("--trace", "f", "--speedup", "0") -> "must be above 0",
    Seq("--trace", "f", "--drivers", "2", "--driver", "2") -> "no driver 2 of 2",
    Seq("--trace", "f", "--fast", "1") -> "no option --fast"
  ).foreach { case (args, why) =>
    test(s"[${args.mkString(" ")}] is refused") {
      val e = intercept[Refusal](Options.parse(args))
      assert(e.what.contains(why) && e.next.contains("usage"))
    }
  }

  test("a record is one line of JSON") {
    val record = JobRecord(3, 1, "short", 2, 0.5, 1.25, 1, "a \"word\"\nand \\ more")
    // Scala reads an escape of Unicode even between three quotes.
    val newline = "\\" + "u000a"
    assert(record.json == """{"job":3,"driver":1,"class":"short","tasks":2,"submitted":0.500000,""" +
      s""""completion":1.250000,"longest":1.000000,"state":"failed","reason":"a \\"word\\"${newline}and \\\\ more"}""")
  }

  // On Spark's own scheduler: the program is the same under any master.
  test("every job ends and is told of once, in the time of the trace") {
    val sc = new SparkContext(new SparkConf().setMaster("local[2]").setAppName("replay").set("spark.ui.enabled", "false"))
    val told = ArrayBuffer[JobRecord]()
    try {
      val jobs = Seq(job(1, 0.1, 0.1, 0.1), job(2, 2, 0.2), job(3, 0.1, 0.1))
      assert(Replay.run(sc, Options.parse(Seq("--trace", "f", "--speedup", "10")), jobs, told += _) == 0)
    } finally sc.stop()
    assert(told.map(_.line).sorted == Seq(1, 2, 3) && told.forall(_.error.isEmpty))
    assert(told.forall(r => r.completion >= r.longest))
    assert(told.map(r => r.line -> r.jobClass).toMap == Map(1 -> "short", 2 -> "long", 3 -> "short"))
  }
}
