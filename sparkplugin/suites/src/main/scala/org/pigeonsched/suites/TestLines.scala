package org.pigeonsched.suites

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path, StandardOpenOption}

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.Reporter
import org.scalatest.events._

/**
 * A reporter of ScalaTest that writes the outcome of each test as a line of JSON: {"event", "test",
 * "seconds", "message"}.
 */
class TestLines extends Reporter {
  import TestLines.write

  override def apply(event: Event): Unit = event match {
    case e: TestStarting => write("started", e.testName)
    case e: TestSucceeded => write("passed", e.testName, e.duration)
    case e: TestFailed => write("failed", e.testName, e.duration, e.message)
    case e: TestCanceled => write("cancelled", e.testName, e.duration, e.message)
    case e: TestIgnored => write("ignored", e.testName)
    case e: TestPending => write("ignored", e.testName)
    case e: SuiteAborted => write("aborted", "", e.duration, e.message)
    case e: RunAborted => write("aborted", "", e.duration, e.message)
    case _ =>
  }
}

object TestLines {

  /** System property: the file to write. */
  val File = "pigeon.suites.results"

  private val json = new ObjectMapper()

  def planned(tests: Iterable[String]): Unit = tests.foreach(write("planned", _))

  private def write(
      event: String,
      test: String,
      millis: Option[Long] = None,
      message: String = ""): Unit = {
    val line = json.createObjectNode().put("event", event).put("test", test)
    millis.foreach(m => line.put("seconds", m / 1000.0))
    if (message.nonEmpty) line.put("message", message)
    append(json.writeValueAsString(line) + "\n")
  }

  private def append(text: String): Unit = synchronized {
    Files.write(
      Path.of(System.getProperty(File)),
      text.getBytes(StandardCharsets.UTF_8),
      StandardOpenOption.CREATE,
      StandardOpenOption.APPEND)
  }
}
