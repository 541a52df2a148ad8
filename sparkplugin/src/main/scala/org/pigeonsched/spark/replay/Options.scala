package org.pigeonsched.spark.replay

import java.io.File

import org.pigeonsched.spark.Refusal

/**
 * How a driver replays its part of a trace.
 *
 * @param driver  this one, of drivers: job k of the trace is replayed by driver k mod drivers
 * @param speedup arrivals and durations are divided by it
 * @param cutoff  seconds: a job with a longer mean is long
 * @param jobs    only so many of the trace, before it is dealt to the drivers; 0: all
 * @param startAt milliseconds since 1970 at which the trace begins, so that drivers begin
 *                together; 0: when this driver is ready
 */
final case class Options(
    trace: File,
    driver: Int = 0,
    drivers: Int = 1,
    speedup: Double = 1,
    cutoff: Double = 1,
    jobs: Int = 0,
    startAt: Long = 0)

object Options {

  val Usage: String = "Replay --trace FILE [--driver K --drivers N] [--speedup S] [--cutoff SECONDS]" +
    " [--jobs N] [--start-at MILLISECONDS]"

  /** Throws a Refusal that names the option. */
  def parse(args: Seq[String]): Options = {
    val read = args.grouped(2).foldLeft(Options(new File(""))) {
      case (o, Seq(name, value)) => set(o, name, value)
      case (_, rest) => refuse(s"${rest.head} has no value")
    }
    if (read.trace.getPath.isEmpty) refuse("--trace is missing")
    if (read.drivers < 1 || read.driver < 0 || read.driver >= read.drivers)
      refuse(s"there is no driver ${read.driver} of ${read.drivers}; the first one is 0")
    if (!(read.speedup > 0) || !(read.cutoff > 0)) refuse("--speedup and --cutoff must be above 0")
    read
  }

  private def set(o: Options, name: String, value: String): Options =
    try name match {
      case "--trace" => o.copy(trace = new File(value))
      case "--driver" => o.copy(driver = value.toInt)
      case "--drivers" => o.copy(drivers = value.toInt)
      case "--speedup" => o.copy(speedup = value.toDouble)
      case "--cutoff" => o.copy(cutoff = value.toDouble)
      case "--jobs" => o.copy(jobs = value.toInt)
      case "--start-at" => o.copy(startAt = value.toLong)
      case other => refuse(s"there is no option $other")
    } catch { case _: NumberFormatException => refuse(s"'$value' is no value of $name") }

  private def refuse(what: String): Nothing =
    throw new Refusal(what, "the command line", "no job was submitted", s"usage: $Usage")
}
