package org.pigeonsched.spark.bench

import org.pigeonsched.spark.{JobClass, Refusal}

/**
 * A job to replay. Times are in nanoseconds; they include a speed-up of the workload.
 *
 * @param line      of the trace, from 1: its name
 * @param due       when it is submitted, after the start of the replay
 * @param estimate  the mean duration of its tasks as declared to the scheduler; 0: none
 * @param durations of each task
 */
final case class ReplayJob(
    line: Int, jobClass: JobClass, due: Long, estimate: Long, durations: Array[Long])

object ReplayJob {

  /** The bound on what one line can make a driver hold, that of a trace. */
  val MaxTasks = 100000

  /** Parses LINE CLASS DUE ESTIMATE DURATION...; throws a Refusal that shows the line. */
  def parse(text: String): ReplayJob = {
    val fields = text.trim.split("\\s+")
    if (fields.length < 5) refuse(text, s"it has ${fields.length} fields, and 5 are the least")
    if (fields.length - 4 > MaxTasks) {
      refuse(text, s"it has ${fields.length - 4} tasks, and $MaxTasks are the most")
    }
    def number(i: Int): Long = {
      val parsed = try fields(i).toLong catch { case _: NumberFormatException => -1L }
      if (parsed < 0) refuse(text, s"'${fields(i)}' is no number of 0 or more")
      parsed
    }
    val line = number(0)
    if (line < 1 || line > Int.MaxValue) refuse(text, s"'${fields(0)}' is the number of no line")
    val jobClass = JobClass.of(fields(1), "the class of a job")
    val durations = Array.tabulate(fields.length - 4)(i => number(4 + i))
    ReplayJob(line.toInt, jobClass, number(2), number(3), durations)
  }

  private def refuse(text: String, why: String): Nothing =
    throw new Refusal(
      s"a line is no job: $why", s"'${text.take(80)}'", "reading jobs; none was submitted",
      "a job is LINE CLASS DUE ESTIMATE DURATION..., times in ns; " +
        "'pigeon-bench replay --via spark' writes them")
}
