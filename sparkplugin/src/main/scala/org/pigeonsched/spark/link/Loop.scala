package org.pigeonsched.spark.link

import org.slf4j.LoggerFactory

import org.pigeonsched.spark.Refusal
import org.pigeonsched.thrift.TPigeonException

/**
 * A daemon thread that does the same step until it is stopped. After a failure it waits, longer
 * each time up to a bound or as long as a daemon asks, and says so in the log, not more often than
 * each ten seconds for the same reason.
 *
 * @param step returns when it is to be called again; throws what failed
 */
private[link] final class Loop(name: String, onFailure: Throwable => Unit, step: () => Unit) {
  import Loop._

  private val log = LoggerFactory.getLogger(classOf[Loop])
  @volatile private var stopping = false
  private var failures = 0
  private var saidAt = 0L
  private var said = ""

  private val thread = new Thread(() => run(), name)
  thread.setDaemon(true)

  def start(): Unit = thread.start()

  def stopped: Boolean = stopping

  /** Lets the thread end; wake it out of what it waits for as well. */
  def stop(): Unit = {
    stopping = true
    thread.interrupt()
  }

  /** The step under way is the last one; nothing that waits is woken. */
  def last(): Unit = stopping = true

  /** Blocks until the thread is gone, at most so long. */
  def join(millis: Long): Unit = if (Thread.currentThread ne thread) thread.join(millis)

  private def run(): Unit = while (!stopping) {
    try {
      step()
      failures = 0
    } catch {
      case _: InterruptedException => // asked to stop, or to look again
      case e: Throwable if stopping => log.debug(s"$name ends", e)
      case e: Exception => failed(e)
    }
  }

  private def failed(e: Exception): Unit = {
    failures += 1
    onFailure(e)
    if (!stopping) {
      say(e)
      rest(e)
    }
  }

  private def rest(e: Exception): Unit = {
    val asked = e match {
      case p: TPigeonException => p.getRetryAfterMillis
      case _ => 0L
    }
    val pause = math.max(asked, math.min(LongestMillis, FirstMillis << math.min(failures, 10)))
    try Thread.sleep(math.min(pause, MostAskedMillis)) catch { case _: InterruptedException => }
  }

  private def say(e: Exception): Unit = {
    val text = e match {
      case p: TPigeonException => Refusal.of(p).getMessage
      case other => other.toString
    }
    val now = System.nanoTime()
    if (text != said || now - saidAt > SayEachNanos) {
      log.warn(s"$name: $text; trying again")
      said = text
      saidAt = now
    }
  }
}

private[link] object Loop {
  val FirstMillis = 10L
  val LongestMillis = 1000L
  val MostAskedMillis = 10000L
  val SayEachNanos: Long = 10L * 1000 * 1000 * 1000
}
