package org.pigeonsched.spark.bench

/**
 * The outcome of one job. Times are in nanoseconds by the driver's clock.
 *
 * @param submitted  when the job was submitted, after the start of the replay
 * @param completion from there to the end of the last task
 * @param error      empty if the job was completed
 */
final case class JobRecord(
    line: Int, submitted: Long, completion: Long, error: String, tasks: TaskRecords) {

  /** One JSON object, as one line. */
  def json: String = {
    val fields = Seq(
      "job" -> line.toString,
      "submitted" -> submitted.toString,
      "completion" -> completion.toString,
      "state" -> JobRecord.quoted(if (error.isEmpty) "completed" else "failed"),
      "reason" -> JobRecord.quoted(error.take(JobRecord.MaxReason)),
      "reported" -> tasks.reported.mkString("[", ",", "]"),
      "ran" -> tasks.ran.mkString("[", ",", "]"),
      "attempts" -> tasks.attempts.mkString("[", ",", "]"),
      "executors" -> tasks.executors.map(JobRecord.quoted).mkString("[", ",", "]"))
    fields.map { case (k, v) => s"""${JobRecord.quoted(k)}:$v""" }.mkString("{", ",", "}")
  }
}

object JobRecord {
  /** Spark's reasons hold stack traces. */
  val MaxReason = 2000

  /** Returns a string as a JSON literal. */
  def quoted(text: String): String = text.flatMap {
    case '"' => "\\\""
    case '\\' => "\\\\"
    case c if c < ' ' => f"\\u${c.toInt}%04x"
    case c => c.toString
  }.mkString("\"", "", "\"")
}

/**
 * The tasks of one job, by number. Spark reports one result after the other, and the job's end
 * after all of them, so nothing here is locked.
 */
final class TaskRecords(size: Int) {
  /** When the driver received its result, after the job was submitted; -1: never. */
  val reported: Array[Long] = Array.fill(size)(-1L)
  /** The duration of its attempt, by the executor's clock. */
  val ran: Array[Long] = new Array(size)
  /** The number of its attempts. */
  val attempts: Array[Int] = new Array(size)
  /** The executor it ran in. */
  val executors: Array[String] = Array.fill(size)("")
}
