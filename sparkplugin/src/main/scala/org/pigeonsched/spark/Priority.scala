package org.pigeonsched.spark

import scala.util.Try

/** A priority among the work of one owner; higher is served first, and 0 is usual. */
object Priority {

  val Property = "spark.pigeon.priority"

  /** Throws a Refusal that names the setting. */
  def of(text: String): Int = Try(text.trim.toInt).getOrElse(throw new Refusal(
    s"'${text.take(100)}' is no priority",
    s"setting $Property",
    s"a priority is a whole number from ${Int.MinValue} to ${Int.MaxValue}",
    s"set $Property to a number such as 10, or leave it out: then it is 0"))
}
