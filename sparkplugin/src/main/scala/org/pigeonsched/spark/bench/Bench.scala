package org.pigeonsched.spark.bench

import java.io.{BufferedReader, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.scheduler.cluster.pigeon.LastWaits

/**
 * A driver that is told what to run, under any master: so cluster managers are measured with the
 * same program, in turns, with their executors warm. 'pigeon bench spark' talks to it.
 *
 * A command is a line of standard input, its answer a JSON object on a line of standard output; the
 * first object says that the driver is ready. The end of the input ends it. Exit status: 0, or 1
 * when a job failed or a line was no command.
 */
object Bench {

  def main(args: Array[String]): Unit = {
    val sc = new SparkContext(new SparkConf().setIfMissing("spark.app.name", "bench"))
    try {
      val jobs = new SleepJobs(sc)
      val in = new BufferedReader(new InputStreamReader(System.in, UTF_8))
      tell(s"""{"ready":true,"application":"${sc.applicationId}"}""")
      Iterator.continually(in.readLine()).takeWhile(_ != null).map(Command.parse).foreach(c => tell(run(sc, jobs, c)))
    } finally sc.stop()
  }

  /** Runs a command; the answer is its line. */
  def run(sc: SparkContext, jobs: SleepJobs, command: Command): String = command match {
    case Command.Sleep(tasks, millis) => s"""{"seconds":${number(jobs.one(tasks, millis))}}"""
    case Command.Each(n) => s"""{"seconds":${list(jobs.each(n))}}"""
    case Command.Stream(tasks, millis, at) => s"""{"seconds":${list(jobs.stream(tasks, millis, at))}}"""
    case Command.Waits => s"""{"seconds":${list(LastWaits.micros(sc).map(_ / 1e6))}}"""
  }

  private def list(seconds: Seq[Double]): String = seconds.map(number).mkString("[", ",", "]")

  private def number(seconds: Double): String = String.format(java.util.Locale.ROOT, "%.6f", Double.box(seconds))

  private def tell(line: String): Unit = {
    println(line)
    Console.out.flush()
  }
}
