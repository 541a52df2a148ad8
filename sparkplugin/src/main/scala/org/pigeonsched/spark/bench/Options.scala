package org.pigeonsched.spark.bench

import org.pigeonsched.spark.Refusal

/**
 * When a driver is ready.
 *
 * @param executors the number that it waits for and warms up with tasks; 0: none
 * @param within    the seconds after which it stops waiting for them
 */
final case class Options(executors: Int = 0, within: Int = 120)

object Options {

  val Usage: String = "Bench [--executors N] [--within SECONDS], with commands on standard input"

  /** Throws a Refusal that names the option. */
  def parse(args: Seq[String]): Options =
    args.grouped(2).foldLeft(Options()) {
      case (o, Seq("--executors", value)) => o.copy(executors = number("--executors", value))
      case (o, Seq("--within", value)) => o.copy(within = number("--within", value))
      case (_, Seq(name, _)) => refuse(s"there is no option $name")
      case (_, rest) => refuse(s"${rest.head} has no value")
    }

  private def number(name: String, value: String): Int =
    if (value.matches("[0-9]{1,6}")) value.toInt
    else refuse(s"'$value' is no value of $name, a number of 0 or more")

  private def refuse(what: String): Nothing =
    throw new Refusal(what, "the command line", "no job was submitted", s"usage: $Usage")
}
