package org.pigeonsched.spark.replay

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.concurrent.ExecutionContext
import scala.util.{Failure, Success, Try}

import org.apache.spark.{SparkConf, SparkContext}

import org.pigeonsched.spark.{JobClass, Refusal}
import org.pigeonsched.spark.classes.ClassChoice

/**
 * The papers' workload through Spark: each job of a trace becomes a Spark job of sleeping tasks,
 * submitted at its time whether or not those before it have ended. Under any master, so that
 * cluster managers are compared with the same program. One JSON object on standard output for each
 * job, as it ends; nothing else is written there.
 *
 * Exit status: 0 when all jobs were completed, 1 when one failed, 2 for wrong use.
 */
object Replay {

  def main(args: Array[String]): Unit = {
    val (options, jobs) =
      try {
        val o = Options.parse(args.toSeq)
        (o, mine(o, TraceFile.read(o.trace)))
      } catch {
        case r: Refusal =>
          Console.err.println(r.getMessage)
          sys.exit(2)
      }
    val sc = new SparkContext(new SparkConf().setIfMissing("spark.app.name", s"replay ${options.trace.getName}"))
    val failed = try run(sc, options, jobs, r => println(r.json)) finally sc.stop()
    if (failed > 0) sys.exit(1)
  }

  /** The jobs of this driver. */
  def mine(o: Options, all: Seq[TraceJob]): Seq[TraceJob] = {
    val used = if (o.jobs > 0) all.take(o.jobs) else all
    used.zipWithIndex.collect { case (job, k) if k % o.drivers == o.driver => job }
  }

  /** Blocks until every job has ended. Answers with how many failed; tell is called by one thread at a time. */
  def run(sc: SparkContext, o: Options, jobs: Seq[TraceJob], tell: JobRecord => Unit): Int = {
    val ended = new CountDownLatch(jobs.size)
    val begin = System.nanoTime() +
      (if (o.startAt > 0) TimeUnit.MILLISECONDS.toNanos(o.startAt - System.currentTimeMillis()) else 0L)
    var failed = 0 // guarded by ended
    jobs.foreach { job =>
      sleepUntil(begin + (job.submitted / o.speedup * 1e9).toLong)
      val submitted = System.nanoTime()
      submit(sc, o, job).onComplete { result =>
        val record = recorded(o, job, submitted - begin, System.nanoTime() - submitted, result)
        ended.synchronized {
          if (record.error.nonEmpty) failed += 1
          tell(record)
        }
        ended.countDown()
      }(SameThread)
    }
    ended.await()
    failed
  }

  private def submit(sc: SparkContext, o: Options, job: TraceJob) = {
    val micros = math.max(1L, (job.mean / o.speedup * 1e6).toLong)
    sc.setLocalProperty(ClassChoice.Property, classOf(o, job))
    sc.setLocalProperty(ClassChoice.Estimate, s"${micros}us")
    sc.setJobDescription(s"line ${job.line} of the trace")
    val nanos = job.durations.map(d => (d / o.speedup * 1e9).toLong)
    val rdd = sc.parallelize(nanos.toSeq, nanos.length)
    sc.submitJob[Long, Unit, Unit](rdd, Sleep, rdd.partitions.indices, (_, _) => (), ())
  }

  private def recorded(o: Options, job: TraceJob, at: Long, took: Long, result: Try[Unit]): JobRecord =
    JobRecord(job.line, o.driver, classOf(o, job), job.durations.length, at / 1e9 * o.speedup,
      took / 1e9 * o.speedup, job.durations.max, result match {
        case Success(_) => ""
        case Failure(e) => String.valueOf(e.getMessage)
      })

  private def classOf(o: Options, job: TraceJob): String =
    (if (job.mean <= o.cutoff) JobClass.Short else JobClass.Long).name

  private def sleepUntil(instant: Long): Unit = {
    val left = instant - System.nanoTime()
    if (left > 0) TimeUnit.NANOSECONDS.sleep(left)
  }

  /** What a task does: it runs on executors, so it holds nothing. */
  private object Sleep extends (Iterator[Long] => Unit) with Serializable {
    override def apply(durations: Iterator[Long]): Unit = durations.foreach(TimeUnit.NANOSECONDS.sleep)
  }

  // The end of a job is written by the thread that sees it: a queue in between would add to its time.
  private object SameThread extends ExecutionContext {
    override def execute(r: Runnable): Unit = r.run()
    override def reportFailure(e: Throwable): Unit = Console.err.println(s"a job's record was not written: $e")
  }
}
