package org.pigeonsched.spark.bench

import org.pigeonsched.spark.Refusal

/** A command to a driver of a measurement. */
sealed trait Command {
  /** Whether the driver answers the command. */
  def answered: Boolean = true
}

object Command {

  /** sleep TASKS MILLIS: one job; answers with the seconds from its submission to its end. */
  final case class Sleep(tasks: Int, millis: Int) extends Command

  /** each JOBS: jobs of one task that does nothing, one after another; the seconds of each. */
  final case class Each(jobs: Int) extends Command

  /**
   * stream TASKS MILLIS AT,AT...: equal jobs, each submitted at its time, whether or not those
   * before it have ended. at is in seconds from now, ascending. Answers with the seconds of each,
   * from the time at which it was due to its end.
   */
  final case class Stream(tasks: Int, millis: Int, at: Seq[Double]) extends Command

  /** job LINE CLASS DUE ESTIMATE DURATION...: a job of the next replay. */
  final case class Keep(job: ReplayJob) extends Command {
    override def answered: Boolean = false
  }

  /**
   * replay: the jobs that were kept, each submitted when it is due. Answers with the seconds that
   * it took, after a record of each job.
   */
  case object Replay extends Command

  val Usage: String = "sleep TASKS MILLIS, each JOBS, stream TASKS MILLIS AT[,AT...], " +
    "job LINE CLASS DUE ESTIMATE DURATION..., replay"

  /** Bounds on what a line can make a driver hold. */
  val MaxTasks = 100000
  val MaxJobs = 100000

  /** Throws a Refusal. */
  def parse(line: String): Command = line.trim.split("\\s+").toSeq match {
    case Seq("sleep", tasks, millis) =>
      Sleep(whole(tasks, MaxTasks, line), whole(millis, Int.MaxValue, line))
    case Seq("each", jobs) => Each(whole(jobs, MaxJobs, line))
    case Seq("stream", tasks, millis, at) =>
      Stream(whole(tasks, MaxTasks, line), whole(millis, Int.MaxValue, line), instants(at, line))
    case "job" +: _ => Keep(ReplayJob.parse(line.trim.stripPrefix("job")))
    case Seq("replay") => Replay
    case _ => refuse(line, "it is no command")
  }

  private def whole(text: String, most: Int, line: String): Int = {
    val n = try text.toInt catch { case _: NumberFormatException => -1 }
    if (n < 0 || n > most) refuse(line, s"'$text' is not a whole number from 0 to $most")
    n
  }

  private def instants(text: String, line: String): Seq[Double] = {
    val at = text.split(",").toSeq.map { t =>
      val s = try t.toDouble catch { case _: NumberFormatException => Double.NaN }
      if (!(s >= 0) || s.isInfinite) refuse(line, s"'$t' is no time")
      s
    }
    if (at.size > MaxJobs) refuse(line, s"it has more than $MaxJobs jobs")
    if (at != at.sorted) refuse(line, "its times do not ascend")
    at
  }

  private def refuse(line: String, why: String): Nothing =
    throw new Refusal(
      why, s"the line '${line.take(80)}'", "nothing of it was run", s"the commands are $Usage")
}
