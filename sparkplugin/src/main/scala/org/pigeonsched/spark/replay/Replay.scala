package org.pigeonsched.spark.replay

import java.io.{BufferedReader, InputStreamReader, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.locks.LockSupport

import scala.concurrent.ExecutionContext
import scala.util.{Failure, Success, Try}

import org.apache.spark.{SparkConf, SparkContext, SparkEnv, TaskContext}

import org.pigeonsched.spark.{JobClass, Refusal}
import org.pigeonsched.spark.classes.ClassChoice

/**
 * The papers' workload through Spark: one driver of those that `pigeon replay --via spark` starts.
 * Each of its jobs becomes a Spark job of sleeping tasks, submitted when it is due, whatever became
 * of those before it. Under any master, so that cluster managers are compared with the same program.
 *
 * {{{
 *   in:   LINE CLASS DUE ESTIMATE DURATION...   a line for each job
 *         end
 *   out:  {"ready":EXECUTORS}                   they are there and warm
 *   in:   start                                 time 0
 *   out:  {"job":LINE,...}                      as each job ends, see JobRecord
 * }}}
 *
 * Nothing else is written to standard output. Exit status: 0 when all jobs were completed, 1 when
 * one failed, 2 when nothing could be run, as standard error says, 3 when standard input ended before.
 */
object Replay {

  /** How often executors are looked for. */
  private val Look = 50L

  def main(args: Array[String]): Unit = {
    val out = System.out
    System.setOut(System.err) // who else prints must not be read as a record
    val orders = new Orders(new BufferedReader(new InputStreamReader(System.in, UTF_8)))
    val status =
      try {
        val options = Options.parse(args.toSeq)
        val jobs = orders.jobs()
        orders.listen(() => {
          Console.err.println("standard input has ended: whoever started this replay is gone or wants no more")
          sys.exit(3)
        })
        if (drive(options, jobs, orders, out) == 0) 0 else 1
      } catch {
        case r: Refusal =>
          Console.err.println(r.getMessage)
          2
      }
    sys.exit(status)
  }

  private def drive(o: Options, jobs: Seq[ReplayJob], orders: Orders, out: PrintStream): Int = {
    val sc = new SparkContext(new SparkConf().setIfMissing("spark.app.name", "replay"))
    try {
      awaitExecutors(sc, o)
      tell(out, s"""{"ready":${o.executors}}""")
      orders.awaitStart()
      run(sc, jobs, record => tell(out, record.json))
    } finally sc.stop()
  }

  private def tell(out: PrintStream, line: String): Unit = {
    out.println(line)
    out.flush()
  }

  /** Throws a Refusal when fewer came in time. */
  private def awaitExecutors(sc: SparkContext, o: Options): Unit = {
    def there = sc.getExecutorMemoryStatus.size - 1 // the driver is among them
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(o.within)
    while (there < o.executors && System.nanoTime() < deadline) Thread.sleep(Look)
    if (there < o.executors)
      throw new Refusal(s"$there of ${o.executors} executors came within ${o.within} s",
        s"application ${sc.applicationId}", "no job was submitted",
        "see 'pigeon explain' of the application for what keeps them; less spark.executor.memory or fewer drivers")
    if (o.executors > 0) warmUp(sc)
  }

  /** Has the slots run what they will run, so that no job of the workload loads classes. */
  private def warmUp(sc: SparkContext): Unit = {
    val slots = math.min(sc.defaultParallelism, 1000)
    val rounds = (1 to 3).map(_ => ReplayJob(1, JobClass.Short, 0, 0, Array.fill(slots)(5000000L)))
    rounds.foreach(round => run(sc, Seq(round), _ => ()))
  }

  /** Blocks until every job has ended. Answers with how many failed; told is called by one thread at a time. */
  def run(sc: SparkContext, jobs: Seq[ReplayJob], told: JobRecord => Unit): Int = {
    val ended = new CountDownLatch(jobs.size)
    val begin = System.nanoTime()
    var failed = 0 // guarded by ended
    jobs.foreach { job =>
      sleepUntil(begin + job.due)
      val submitted = System.nanoTime()
      val tasks = new TaskRecords(job.durations.length)
      submit(sc, job, submitted, tasks).onComplete { result =>
        val record = JobRecord(job.line, submitted - begin, System.nanoTime() - submitted, reason(result), tasks)
        ended.synchronized {
          if (record.error.nonEmpty) failed += 1
          told(record)
        }
        ended.countDown()
      }(SameThread)
    }
    ended.await()
    failed
  }

  private def submit(sc: SparkContext, job: ReplayJob, submitted: Long, tasks: TaskRecords) = {
    sc.setLocalProperty(ClassChoice.Property, job.jobClass.name)
    sc.setLocalProperty(ClassChoice.Estimate, if (job.estimate > 0) s"${math.max(1L, job.estimate / 1000)}us" else null)
    sc.setJobDescription(s"line ${job.line} of the trace")
    val rdd = sc.parallelize(job.durations.toSeq, job.durations.length)
    sc.submitJob[Long, (Long, Int, String), Unit](rdd, Sleep, rdd.partitions.indices, (task, result) => {
      tasks.reported(task) = System.nanoTime() - submitted
      tasks.ran(task) = result._1
      tasks.attempts(task) = result._2
      tasks.executors(task) = result._3
    }, ())
  }

  private def reason(result: Try[Unit]): String = result match {
    case Success(_) => ""
    case Failure(e) => String.valueOf(e.getMessage)
  }

  /** To some ten microseconds; TimeUnit.sleep rounds to milliseconds. */
  private def sleepUntil(instant: Long): Unit = {
    var left = instant - System.nanoTime()
    while (left > 0) {
      LockSupport.parkNanos(left)
      if (Thread.interrupted()) throw new InterruptedException
      left = instant - System.nanoTime()
    }
  }

  /** What a task does: it runs on executors, so it holds nothing. Tells how long, which attempt, and where. */
  private object Sleep extends (Iterator[Long] => (Long, Int, String)) with Serializable {
    override def apply(durations: Iterator[Long]): (Long, Int, String) = {
      val began = System.nanoTime()
      durations.foreach(d => sleepUntil(System.nanoTime() + d))
      (System.nanoTime() - began, TaskContext.get().attemptNumber() + 1, SparkEnv.get.executorId)
    }
  }

  // The end of a job is written by the thread that sees it: a queue in between would add to its time.
  private object SameThread extends ExecutionContext {
    override def execute(r: Runnable): Unit = r.run()
    override def reportFailure(e: Throwable): Unit = Console.err.println(s"a job's record was not written: $e")
  }
}
