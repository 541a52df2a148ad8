package org.pigeonsched.spark.link

import org.apache.spark.internal.Logging

import org.pigeonsched.spark.Refusal
import org.pigeonsched.thrift.TPigeonException

/**
 * A daemon thread that repeats a step until it is stopped. After a failure, of any kind, it pauses,
 * longer each time up to a bound, or as long as a daemon requests, and logs the failure, the same
 * reason at most every ten seconds.
 *
 * @param step returns when it is to be called again; throws when it failed
 */
private[link] final class Loop(name: String, onFailure: Throwable => Unit, step: () => Unit)
  extends Logging {
  import Loop._

  @volatile private var stopping = false
  private var failures = 0
  private var loggedAt = 0L
  private var logged = ""

  private val thread = new Thread(() => run(), name)
  thread.setDaemon(true)

  def start(): Unit = thread.start()

  /** Makes the thread end; interrupts what it waits for. */
  def stop(): Unit = {
    stopping = true
    thread.interrupt()
  }

  /** Makes the step in progress the last one, without an interruption. */
  def stopAfterStep(): Unit = stopping = true

  /** Blocks until the thread has ended, at most for this long. */
  def join(millis: Long): Unit = if (Thread.currentThread ne thread) thread.join(millis)

  private def run(): Unit = while (!stopping) {
    try {
      step()
      failures = 0
    } catch {
      case _: InterruptedException => // stopped, or woken up
      case e: Throwable if stopping => logDebug(s"$name ends", e)
      case e: Exception => failed(e)
      // Memory is short, or a class cannot be loaded. An executor ends by Spark's handler; a driver
      // may go on, and without this thread its jobs would wait for ever.
      case e: Throwable =>
        thread.getUncaughtExceptionHandler.uncaughtException(thread, e)
        failed(e)
    }
  }

  private def failed(e: Throwable): Unit = {
    failures += 1
    onFailure(e)
    if (!stopping) {
      logFailure(e)
      pauseAfter(e)
    }
  }

  private def pauseAfter(e: Throwable): Unit = {
    val requested = e match {
      case p: TPigeonException => p.getRetryAfterMillis
      case _ => 0L
    }
    val pause =
      math.max(requested, math.min(MaxPauseMillis, FirstPauseMillis << math.min(failures, 10)))
    try Thread.sleep(math.min(pause, MaxRequestedMillis))
    catch { case _: InterruptedException => }
  }

  private def logFailure(e: Throwable): Unit = {
    val text = e match {
      case p: TPigeonException => Refusal.of(p).getMessage
      case f: FailedCall => f.getMessage
      case other => other.toString
    }
    val now = System.nanoTime()
    if (text != logged || now - loggedAt > LogIntervalNanos) {
      logWarning(s"$name: $text; trying again")
      logged = text
      loggedAt = now
    }
  }
}

private[link] object Loop {
  val FirstPauseMillis = 10L
  val MaxPauseMillis = 1000L
  val MaxRequestedMillis = 10000L
  val LogIntervalNanos: Long = 10L * 1000 * 1000 * 1000
}
