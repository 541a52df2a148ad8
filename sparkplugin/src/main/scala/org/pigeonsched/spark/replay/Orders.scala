package org.pigeonsched.spark.replay

import java.io.BufferedReader
import java.util.concurrent.CountDownLatch

import scala.collection.mutable.ArrayBuffer

import org.pigeonsched.spark.Refusal

/**
 * What the program that started a driver says, on the driver's standard input: the jobs, one on a
 * line, `end`, and when all drivers are ready, `start`. The end of the input means that the
 * program, or the machine it ran on, is gone or wants no more.
 */
final class Orders(in: BufferedReader) {

  private val started = new CountDownLatch(1)

  /** The jobs. Throws a Refusal that shows a wrong line. */
  def jobs(): Seq[ReplayJob] = {
    val jobs = ArrayBuffer[ReplayJob]()
    var line = in.readLine()
    while (line != "end") {
      if (line == null) throw new Refusal("the list of jobs has no end", "standard input",
        s"reading jobs, ${jobs.size} so far; none was submitted", "'pigeon replay --via spark' starts this program")
      if (line.nonEmpty) jobs += ReplayJob.parse(line)
      line = in.readLine()
    }
    jobs.toList
  }

  /** Listens from now on, on a thread that keeps no program alive; gone is called once, there. */
  def listen(gone: () => Unit): Unit = {
    val thread = new Thread(() => {
      var line = in.readLine()
      while (line != null) {
        if (line == "start") started.countDown()
        line = in.readLine()
      }
      gone()
    }, "replay-orders")
    thread.setDaemon(true)
    thread.start()
  }

  def awaitStart(): Unit = started.await()
}
