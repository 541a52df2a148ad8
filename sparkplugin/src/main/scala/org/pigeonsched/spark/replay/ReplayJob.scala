package org.pigeonsched.spark.replay

import org.pigeonsched.spark.{JobClass, Refusal}

/**
 * A job to replay. Times are ns, as run: whoever wrote it has sped them up.
 *
 * @param line      of the trace, from 1: its name
 * @param due       when it is submitted, after the start
 * @param estimate  the mean duration of its tasks, as the scheduler may know it; 0 if it may not
 * @param durations of each task
 */
final case class ReplayJob(line: Int, jobClass: JobClass, due: Long, estimate: Long, durations: Array[Long])

object ReplayJob {

  /** The bound on what one line can make a driver hold, that of a trace. */
  val MaxTasks = 100000

  /** Of a line as `pigeon replay` writes it; throws a Refusal that shows it. */
  def parse(text: String): ReplayJob = {
    val fields = text.trim.split("\\s+")
    if (fields.length < 5) refuse(text, s"it has ${fields.length} fields, and 5 are the least")
    if (fields.length - 4 > MaxTasks) refuse(text, s"it has ${fields.length - 4} tasks, and $MaxTasks are the most")
    def number(i: Int): Long = {
      val parsed = try fields(i).toLong catch { case _: NumberFormatException => -1L }
      if (parsed < 0) refuse(text, s"'${fields(i)}' is no number of 0 or more") else parsed
    }
    val line = number(0)
    if (line < 1 || line > Int.MaxValue) refuse(text, s"'${fields(0)}' is the number of no line")
    ReplayJob(line.toInt, JobClass.of(fields(1), "the second field of a job"), number(2), number(3),
      Array.tabulate(fields.length - 4)(i => number(4 + i)))
  }

  private def refuse(text: String, why: String): Nothing =
    throw new Refusal(s"a line is no job: $why", s"'${text.take(80)}'", "reading jobs; none was submitted",
      "a line is LINE CLASS DUE ESTIMATE DURATION..., times in ns; 'pigeon replay --via spark' writes them")
}
