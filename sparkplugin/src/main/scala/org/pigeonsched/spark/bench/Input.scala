package org.pigeonsched.spark.bench

import java.io.BufferedReader
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.atomic.AtomicInteger

import org.pigeonsched.spark.Refusal

/**
 * The commands on standard input, read ahead by a daemon thread, so that the end of the input is
 * seen while a command runs.
 */
final class Input(in: BufferedReader) {

  private val lines = new LinkedBlockingQueue[Either[Refusal, Option[Command]]]
  private val unanswered = new AtomicInteger(1) // that the driver is ready is the first answer

  /** Reads from now on; abandoned is called when the input ends before the last answer. */
  def start(abandoned: () => Unit): Unit = {
    val thread = new Thread(() => {
      Iterator.continually(in.readLine()).takeWhile(_ != null).filter(_.nonEmpty).foreach(read)
      if (unanswered.get > 0) abandoned()
      lines.put(Right(None))
    }, "bench-input")
    thread.setDaemon(true)
    thread.start()
  }

  private def read(line: String): Unit =
    try {
      val command = Command.parse(line)
      if (command.answered) unanswered.incrementAndGet()
      lines.put(Right(Some(command)))
    } catch {
      case r: Refusal => lines.put(Left(r))
    }

  /** The commands until the end of the input. A line that is none throws its Refusal. */
  def commands: Iterator[Command] =
    Iterator.continually(lines.take().fold(r => throw r, c => c)).takeWhile(_.nonEmpty).map(_.get)

  /** Records that an answer was written. */
  def answered(): Unit = unanswered.decrementAndGet()
}
