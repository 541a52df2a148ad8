package org.pigeonsched.spark.bench

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicReference

import scala.util.{Failure, Success}

import org.apache.spark.SparkContext

/** Jobs whose tasks sleep, timed in the driver. Methods throw the exception of a failed job. */
final class SleepJobs(sc: SparkContext) {
  import SleepJobs._

  /** Seconds that one job took. */
  def one(tasks: Int, millis: Int): Double = timed {
    sc.parallelize(0 until tasks, math.max(1, tasks)).foreach(new Sleep(millis))
  }

  /** Jobs of one task that does nothing, one after another: the seconds of each. */
  def each(jobs: Int): Seq[Double] = Seq.fill(jobs)(one(1, 0))

  /**
   * Equal jobs, each submitted at its time; the seconds of each from then on. Blocks until all have
   * ended.
   */
  def stream(tasks: Int, millis: Int, at: Seq[Double]): Seq[Double] = {
    val begin = System.nanoTime()
    val took = new Array[Double](at.size)
    val left = new CountDownLatch(at.size)
    val failure = new AtomicReference[Throwable]
    at.zipWithIndex.foreach { case (second, k) =>
      val due = begin + (second * 1e9).toLong
      TimeUnit.NANOSECONDS.sleep(math.max(0L, due - System.nanoTime()))
      submit(tasks, millis).onComplete { result =>
        took(k) = (System.nanoTime() - due) / 1e9
        result match {
          case Success(_) =>
          case Failure(e) => failure.compareAndSet(null, e)
        }
        left.countDown()
      }(SameThread)
    }
    left.await()
    Option(failure.get).foreach(e => throw e)
    took.toSeq
  }

  private def submit(tasks: Int, millis: Int) = {
    val rdd = sc.parallelize(0 until tasks, math.max(1, tasks))
    val sleep = new Sleep(millis)
    val run = (elements: Iterator[Int]) => elements.foreach(sleep)
    sc.submitJob[Int, Unit, Unit](rdd, run, rdd.partitions.indices, (_, _) => (), ())
  }
}

object SleepJobs {

  /** A task's code: it runs on executors, so it contains nothing but its duration. */
  private final class Sleep(millis: Int) extends (Int => Unit) with Serializable {
    override def apply(element: Int): Unit = Thread.sleep(millis.toLong)
  }

  private def timed(body: => Unit): Double = {
    val began = System.nanoTime()
    body
    (System.nanoTime() - began) / 1e9
  }
}
