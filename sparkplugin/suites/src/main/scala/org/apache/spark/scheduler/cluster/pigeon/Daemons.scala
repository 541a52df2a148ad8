package org.apache.spark.scheduler.cluster.pigeon

import java.io.{BufferedReader, File, InputStreamReader}
import java.nio.charset.StandardCharsets
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

/**
 * A running `pigeon dev`. It is in the process group of this JVM, which tools/spark-suites ends as
 * a whole: no process outlives a suite that was killed.
 *
 * @param master its address, as a master URL
 */
private[spark] final class Daemons private (process: Process, val master: String, hook: Thread) {

  /** Returns when the daemons have ended. May be called again. */
  def stop(): Unit = {
    Daemons.end(process)
    try Runtime.getRuntime.removeShutdownHook(hook)
    catch { case _: IllegalStateException => } // it runs already
  }
}

private[spark] object Daemons {

  private val GraceSeconds = 30L

  /**
   * Starts the daemons, all nodes in one group, and waits until they serve; their log is this JVM's
   * standard error. A task is placed in a group once: in groups of a slot or two it could wait
   * behind one that never ends, as some tests have, while another group is idle.
   */
  def start(nodes: Int, slots: Int): Daemons = {
    val program = System.getProperty("pigeon.suites.program")
    val process = new ProcessBuilder(
      program,
      "dev",
      "-o",
      "json",
      "--groups",
      "1",
      "--nodes",
      nodes.toString,
      "--slots",
      slots.toString,
      "--reserved",
      "0")
      .redirectInput(new File("/dev/null")).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    val hook = new Thread(() => end(process))
    Runtime.getRuntime.addShutdownHook(hook)
    val out =
      new BufferedReader(new InputStreamReader(process.getInputStream, StandardCharsets.UTF_8))
    val line = out.readLine()
    if (line == null) throw new IllegalStateException(
      s"'$program dev' ended with ${process.waitFor()} before it was ready; its output is above")
    val frontends =
      new ObjectMapper().readTree(line).get("frontends").elements().asScala.map(_.asText)
    new Daemons(process, frontends.mkString("pigeon://", ",", ""), hook)
  }

  private def end(process: Process): Unit = {
    process.destroy()
    if (!process.waitFor(GraceSeconds, TimeUnit.SECONDS)) process.destroyForcibly().waitFor()
  }
}
