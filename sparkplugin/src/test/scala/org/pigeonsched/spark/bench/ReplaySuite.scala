package org.pigeonsched.spark.bench

import java.io.{BufferedReader, StringReader}
import java.util.concurrent.CountDownLatch

import scala.collection.mutable.ArrayBuffer

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.{SparkConf, SparkContext}

import org.pigeonsched.spark.{JobClass, Refusal}

class ReplaySuite extends AnyFunSuite {

  test("a line is a job, whatever its white space") {
    val job = ReplayJob.parse(" 7\tlong 1500  750 500 1000\r")
    assert(job.line == 7 && job.jobClass == JobClass.Long && job.due == 1500 && job.estimate == 750)
    assert(job.durations.toSeq == Seq(500, 1000))
  }

  Seq(
    "1 short 1 1" -> "4 fields",
    "0 short 1 1 1" -> "'0' is the number of no line",
    "9999999999 short 1 1 1" -> "is the number of no line",
    "1 medium 1 1 1" -> "medium",
    "1 short x 1 1" -> "'x' is no number",
    "1 short 1 1 1.5" -> "'1.5' is no number",
    "1 short 1 -1 1" -> "'-1' is no number"
  ).foreach { case (text, why) =>
    test(s"[$text] is refused") {
      assert(intercept[Refusal](ReplayJob.parse(text)).getMessage.contains(why))
    }
  }

  private def input(text: String) = new Input(new BufferedReader(new StringReader(text)))

  test("input is commands until its end, which ends a driver that owes no answer") {
    val in = input("job 1 short 0 1 1\n\nreplay\n")
    val abandoned = new CountDownLatch(1)
    in.answered() // it was ready
    in.start(() => abandoned.countDown())
    assert(in.commands.toList.map(_.answered) == Seq(false, true))
    abandoned.await() // 'replay' was never answered
    val idle = input("job 1 short 0 1 1\n")
    idle.answered()
    idle.start(() => fail("it was abandoned"))
    assert(idle.commands.size == 1)
  }

  test("a line that is not a command is refused in order") {
    val in = input("replay\njob 1\n")
    in.start(() => ())
    val commands = in.commands
    assert(commands.next() == Command.Replay)
    assert(intercept[Refusal](commands.next()).what.contains("1 fields"))
  }

  Seq(
    Seq("--within") -> "--within has no value",
    Seq("--executors", "-1") -> "'-1' is no value of --executors",
    Seq("--fast", "1") -> "no option --fast"
  ).foreach { case (args, why) =>
    test(s"[${args.mkString(" ")}] is refused") {
      val e = intercept[Refusal](Options.parse(args))
      assert(e.what.contains(why) && e.next.contains("usage"))
    }
  }

  test("a record is one line of JSON") {
    val tasks = new TaskRecords(2)
    tasks.reported(0) = 9
    tasks.ran(0) = 5
    tasks.attempts(0) = 1
    tasks.executors(0) = "3"
    val record = JobRecord(3, 500, 1250, "a \"word\"\nand \\ more", tasks)
    // Scala reads an escape of Unicode even between three quotes.
    val newline = "\\" + "u000a"
    assert(record.json == """{"job":3,"submitted":500,"completion":1250,"state":"failed",""" +
      s""""reason":"a \\"word\\"${newline}and \\\\ more",""" +
      """"reported":[9,-1],"ran":[5,0],"attempts":[1,0],"executors":["3",""]}""")
  }

  // On Spark's own scheduler: the program is the same under any master.
  test("every job ends and is reported once, with all of its tasks") {
    val sc = new SparkContext(
      new SparkConf().setMaster("local[2]").setAppName("replay").set("spark.ui.enabled", "false"))
    val records = ArrayBuffer[JobRecord]()
    val ms = 1000000L
    val jobs = Seq(
      ReplayJob(1, JobClass.Short, 0, 10 * ms, Array(10 * ms, 10 * ms)),
      ReplayJob(2, JobClass.Long, 0, 0, Array(20 * ms)),
      ReplayJob(3, JobClass.Short, 30 * ms, 10 * ms, Array(10 * ms)))
    try assert(Replay.run(sc, jobs, records += _) == 0) finally sc.stop()
    assert(records.map(_.line).sorted == Seq(1, 2, 3) && records.forall(_.error.isEmpty))
    records.foreach { r =>
      val job = jobs(r.line - 1)
      assert(r.submitted >= job.due && r.tasks.attempts.forall(_ == 1))
      r.tasks.ran.zip(job.durations).foreach { case (ran, duration) => assert(ran >= duration) }
      r.tasks.reported.zip(r.tasks.ran).foreach { case (reported, ran) =>
        assert(reported >= ran && reported <= r.completion)
      }
    }
  }
}
