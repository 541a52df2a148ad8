package org.pigeonsched.spark.bench

import java.io.{BufferedReader, InputStreamReader, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.{SparkConf, SparkContext}

import org.pigeonsched.spark.{JobClass, Refusal}

/**
 * A driver that runs commands under any master, so that cluster managers are measured with the
 * same program. `pigeon-bench spark` and `pigeon-bench replay --via spark` start it.
 *
 * Commands are lines of standard input, answers are JSON objects, one on a line of standard output:
 *
 * {{{
 *                                            {"ready":EXECUTORS,"application":ID}   first of all
 *   sleep TASKS MILLIS                       {"seconds":S}
 *   each JOBS                                {"seconds":[S,...]}
 *   stream TASKS MILLIS AT,AT...             {"seconds":[S,...]}
 *   job LINE CLASS DUE ESTIMATE DURATION...  (no answer: the job is kept for the replay)
 *   replay                                   {"job":LINE,...} as each job ends, then {"seconds":S}
 * }}}
 *
 * Nothing else is written to standard output. The end of the input ends the driver at once: the
 * program that started it has ended or no longer needs it. Exit status: 0; 1 when a job failed; 2
 * when nothing could be run, as standard error explains; 3 when the input ended before the last
 * answer.
 */
object Bench {

  /** The interval at which the executors are counted, in milliseconds. */
  private val LookEvery = 50L

  def main(args: Array[String]): Unit = {
    val out = System.out
    System.setOut(System.err) // what other code prints must not be read as an answer
    val input = new Input(new BufferedReader(new InputStreamReader(System.in, UTF_8)))
    val status =
      try {
        val options = Options.parse(args.toSeq)
        input.start(() => {
          Console.err.println("standard input has ended: " +
            "the program that started this driver has ended, or needs it no more")
          sys.exit(3)
        })
        if (drive(options, input, line => write(out, line))) 0 else 1
      } catch {
        case r: Refusal =>
          Console.err.println(r.getMessage)
          2
      }
    sys.exit(status)
  }

  /** Runs commands until the end of the input. Returns whether all replayed jobs were completed. */
  private def drive(o: Options, input: Input, write: String => Unit): Boolean = {
    val sc = new SparkContext(new SparkConf().setIfMissing("spark.app.name", "bench"))
    try {
      awaitExecutors(sc, o)
      val commands = new Commands(sc, write)
      write(s"""{"ready":${o.executors},"application":"${sc.applicationId}"}""")
      input.answered()
      input.commands.foreach { command =>
        commands.run(command)
        if (command.answered) input.answered()
      }
      commands.failed == 0
    } finally sc.stop()
  }

  private def write(out: PrintStream, line: String): Unit = {
    out.println(line)
    out.flush()
  }

  /** Throws a Refusal when fewer have connected in time. */
  private def awaitExecutors(sc: SparkContext, o: Options): Unit = {
    def present = sc.getExecutorMemoryStatus.size - 1 // the driver is among them
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(o.within)
    while (present < o.executors && System.nanoTime() < deadline) Thread.sleep(LookEvery)
    if (present < o.executors) {
      throw new Refusal(s"$present of ${o.executors} executors came within ${o.within} s",
        s"application ${sc.applicationId}", "no job was submitted",
        "see 'pigeon explain' of the application for the reason; " +
          "use less spark.executor.memory or fewer drivers")
    }
    if (o.executors > 0) warmUp(sc)
  }

  /** Loads the classes of the tasks on every slot, so that no measured job does. */
  private def warmUp(sc: SparkContext): Unit = {
    val slots = math.min(sc.defaultParallelism, 1000)
    val round = ReplayJob(1, JobClass.Short, 0, 0, Array.fill(slots)(5000000L))
    (1 to 3).foreach(_ => Replay.run(sc, Seq(round), _ => ()))
  }
}

/** Runs commands one after another, and writes their answers. */
final class Commands(sc: SparkContext, write: String => Unit) {

  private val sleeping = new SleepJobs(sc)
  private val kept = ArrayBuffer[ReplayJob]()

  /** Jobs that were replayed and failed. */
  var failed = 0

  def run(command: Command): Unit = command match {
    case Command.Sleep(tasks, millis) => answer(number(sleeping.one(tasks, millis)))
    case Command.Each(n) => answer(list(sleeping.each(n)))
    case Command.Stream(tasks, millis, at) => answer(list(sleeping.stream(tasks, millis, at)))
    case Command.Keep(job) => kept += job
    case Command.Replay =>
      val began = System.nanoTime()
      failed += Replay.run(sc, kept.toList, record => write(record.json))
      kept.clear()
      answer(number((System.nanoTime() - began) / 1e9))
  }

  private def answer(seconds: String): Unit = write(s"""{"seconds":$seconds}""")

  private def list(seconds: Seq[Double]): String = seconds.map(number).mkString("[", ",", "]")

  private def number(seconds: Double): String =
    String.format(java.util.Locale.ROOT, "%.6f", Double.box(seconds))
}
