package org.pigeonsched.spark.bench

import scala.collection.mutable.ArrayBuffer

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.{SparkConf, SparkContext}

import org.pigeonsched.spark.Refusal

class BenchSuite extends AnyFunSuite {

  Seq(
    "sleep 500 10" -> Command.Sleep(500, 10),
    "  each   3 " -> Command.Each(3),
    "stream 10 50 0,0.25,2" -> Command.Stream(10, 50, Seq(0, 0.25, 2)),
    "replay" -> Command.Replay
  ).foreach { case (line, command) =>
    test(s"[$line] is read")(assert(Command.parse(line) == command))
  }

  Seq(
    "" -> "no command",
    "sleep 5" -> "no command",
    "sleep -1 5" -> "'-1' is not a whole number",
    "each 100001" -> "to 100000",
    "stream 1 1 0,x" -> "'x' is no time",
    "stream 1 1 2,1" -> "do not ascend",
    "stream 1 1 Infinity" -> "'Infinity' is no time"
  ).foreach { case (line, why) =>
    test(s"[$line] is refused") {
      val e = intercept[Refusal](Command.parse(line))
      assert(e.what.contains(why) && e.next.contains(Command.Usage))
    }
  }

  // On Spark's own scheduler: the program is the same under any master.
  test("each command is answered by one object; a task's sleep is in it") {
    val sc = new SparkContext(
      new SparkConf().setMaster("local[2]").setAppName("bench").set("spark.ui.enabled", "false"))
    try {
      val written = ArrayBuffer[String]()
      val commands = new Commands(sc, written += _)
      def seconds(line: String): Seq[Double] = {
        commands.run(Command.parse(line))
        val answer = written.last
        assert(answer.startsWith("{\"seconds\":") && answer.endsWith("}"))
        val inner = answer.stripPrefix("{\"seconds\":").stripSuffix("}")
          .stripPrefix("[").stripSuffix("]")
        inner.split(",").toSeq.filter(_.nonEmpty).map(_.toDouble)
      }
      assert(seconds("sleep 4 50").forall(_ >= 0.1))
      assert(seconds("each 3").size == 3)
      val stream = seconds("stream 2 20 0,0.01,0.3")
      assert(stream.size == 3 && stream.forall(_ >= 0.02))
      written.clear()
      commands.run(Command.parse("job 4 short 0 1 1000"))
      assert(written.isEmpty && seconds("replay").size == 1 && commands.failed == 0)
      assert(written.size == 2 && written.head.startsWith("{\"job\":4,"))
    } finally sc.stop()
  }
}
