package org.pigeonsched.spark.replay

import java.util.Locale

/**
 * What became of one job, in the time of the trace (durations times the speedup).
 *
 * @param submitted  seconds after the beginning, as it happened
 * @param completion seconds from there to the end of the last task
 * @param longest    seconds, the longest task: no completion is shorter
 * @param error      empty if it was completed
 */
final case class JobRecord(
    line: Int, driver: Int, jobClass: String, tasks: Int, submitted: Double, completion: Double, longest: Double,
    error: String) {

  /** One JSON object, as one line. */
  def json: String = {
    def number(d: Double): String = String.format(Locale.ROOT, "%.6f", Double.box(d))
    val fields = Seq(
      "job" -> line.toString, "driver" -> driver.toString, "class" -> JobRecord.quoted(jobClass),
      "tasks" -> tasks.toString, "submitted" -> number(submitted), "completion" -> number(completion),
      "longest" -> number(longest), "state" -> JobRecord.quoted(if (error.isEmpty) "completed" else "failed"),
      "reason" -> JobRecord.quoted(error))
    fields.map { case (k, v) => s"""${JobRecord.quoted(k)}:$v""" }.mkString("{", ",", "}")
  }
}

object JobRecord {
  /** As JSON writes a string. */
  def quoted(text: String): String = text.flatMap {
    case '"' => "\\\""
    case '\\' => "\\\\"
    case c if c < ' ' => f"\\u${c.toInt}%04x"
    case c => c.toString
  }.mkString("\"", "", "\"")
}
