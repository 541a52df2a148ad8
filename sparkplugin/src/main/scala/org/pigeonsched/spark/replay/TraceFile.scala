package org.pigeonsched.spark.replay

import java.io.{BufferedReader, File, FileInputStream, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable.ArrayBuffer

import org.pigeonsched.spark.Refusal

/**
 * One job of a trace.
 *
 * @param line      of the file, from 1: its name
 * @param submitted seconds after the beginning of the trace
 * @param mean      the column the scheduler may know: the mean duration of its tasks, seconds
 * @param durations of each task, seconds
 */
final case class TraceJob(line: Int, submitted: Double, mean: Double, durations: Array[Double])

/**
 * The published trace format: a job on each line, as submit time, number of tasks, mean task
 * duration, then the duration of each task; seconds, any white space between.
 */
object TraceFile {

  /** Bounds on what a file can make a driver hold. */
  val MaxTasks = 1000000
  val MaxJobs = 1000000

  /** Throws a Refusal that names the line. */
  def read(file: File): Seq[TraceJob] = {
    if (!file.isFile) throw new Refusal("there is no such trace", s"file $file", "", "name a trace in the published format")
    val in = new BufferedReader(new InputStreamReader(new FileInputStream(file), UTF_8))
    val jobs = ArrayBuffer[TraceJob]()
    try {
      var number = 1
      var text = in.readLine()
      while (text != null) {
        if (text.trim.nonEmpty) jobs += parse(text, number, s"file $file")
        if (jobs.size > MaxJobs) refuse(s"there are more than $MaxJobs jobs", s"file $file", number)
        number += 1
        text = in.readLine()
      }
    } finally in.close()
    jobs.toList
  }

  /** One line. Throws a Refusal that names it and the file. */
  def parse(text: String, number: Int, file: String): TraceJob = {
    val fields = text.trim.split("\\s+")
    if (fields.length < 4) refuse(s"${fields.length} fields, at least 4 are needed", file, number)
    def value(i: Int): Double = {
      val parsed = try fields(i).toDouble catch { case _: NumberFormatException => Double.NaN }
      if (parsed >= 0 && !parsed.isInfinite) parsed
      else refuse(s"field ${i + 1} is '${fields(i)}', not a number of at least 0", file, number)
    }
    val tasks = value(1)
    if (tasks < 1 || tasks > MaxTasks || tasks != math.floor(tasks)) refuse(s"'${fields(1)}' tasks", file, number)
    if (fields.length != 3 + tasks.toInt)
      refuse(s"${fields.length - 3} durations for ${tasks.toInt} tasks", file, number)
    TraceJob(number, value(0), value(2), Array.tabulate(tasks.toInt)(i => value(3 + i)))
  }

  private def refuse(what: String, file: String, number: Int): Nothing =
    throw new Refusal(s"a line is no job of a trace: $what", s"$file, line $number", "no job was submitted",
      "a line is: submit time, number of tasks, mean duration, then the duration of each task, in seconds")
}
