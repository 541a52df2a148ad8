package org.pigeonsched.spark.bench

import java.util.concurrent.CountDownLatch
import java.util.concurrent.locks.LockSupport

import scala.util.{Failure, Success, Try}

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}

import org.pigeonsched.spark.classes.ClassChoice

/**
 * The papers' workload through Spark: each job becomes a Spark job of sleeping tasks, submitted
 * when it is due, whether or not earlier jobs have ended.
 */
object Replay {

  /**
   * Blocks until every job has ended, and returns how many failed. ended is called by one thread at
   * a time.
   */
  def run(sc: SparkContext, jobs: Seq[ReplayJob], ended: JobRecord => Unit): Int = {
    val left = new CountDownLatch(jobs.size)
    val begin = System.nanoTime()
    var failed = 0 // guarded by left
    jobs.foreach { job =>
      sleepUntil(begin + job.due)
      val submitted = System.nanoTime()
      val tasks = new TaskRecords(job.durations.length)
      submit(sc, job, submitted, tasks).onComplete { result =>
        val completion = System.nanoTime() - submitted
        val record = JobRecord(job.line, submitted - begin, completion, reason(result), tasks)
        left.synchronized {
          if (record.error.nonEmpty) failed += 1
          ended(record)
        }
        left.countDown()
      }(SameThread)
    }
    left.await()
    failed
  }

  private def submit(sc: SparkContext, job: ReplayJob, submitted: Long, tasks: TaskRecords) = {
    sc.setLocalProperty(ClassChoice.Property, job.jobClass.name)
    val estimate = if (job.estimate > 0) s"${math.max(1L, job.estimate / 1000)}us" else null
    sc.setLocalProperty(ClassChoice.Estimate, estimate)
    sc.setJobDescription(s"line ${job.line} of the trace")
    val rdd = sc.parallelize(job.durations.toSeq, job.durations.length)
    def record(task: Int, result: (Long, Int, String)): Unit = {
      tasks.reported(task) = System.nanoTime() - submitted
      tasks.ran(task) = result._1
      tasks.attempts(task) = result._2
      tasks.executors(task) = result._3
    }
    sc.submitJob[Long, (Long, Int, String), Unit](rdd, Sleep, rdd.partitions.indices, record, ())
  }

  private def reason(result: Try[Unit]): String = result match {
    case Success(_) => ""
    case Failure(e) => String.valueOf(e.getMessage)
  }

  /** Sleeps, accurate to some ten microseconds; TimeUnit.sleep rounds to milliseconds. */
  private def sleepUntil(instant: Long): Unit = {
    var left = instant - System.nanoTime()
    while (left > 0) {
      LockSupport.parkNanos(left)
      if (Thread.interrupted()) throw new InterruptedException
      left = instant - System.nanoTime()
    }
  }

  /** A task's code, without state. Returns how long it ran, its attempt and its executor. */
  private object Sleep extends (Iterator[Long] => (Long, Int, String)) with Serializable {
    override def apply(durations: Iterator[Long]): (Long, Int, String) = {
      val began = System.nanoTime()
      durations.foreach(d => sleepUntil(System.nanoTime() + d))
      (System.nanoTime() - began, TaskContext.get().attemptNumber() + 1, SparkEnv.get.executorId)
    }
  }
}
