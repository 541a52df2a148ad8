package org.pigeonsched.spark

/**
 * The two classes of work. A grant is for one of them; under its lease the slot serves more urgent
 * work too.
 */
sealed abstract class JobClass(val name: String) extends Serializable {
  def moreUrgentThan(other: JobClass): Boolean =
    JobClass.all.indexOf(this) < JobClass.all.indexOf(other)

  override def toString: String = name
}

object JobClass {

  case object Short extends JobClass("short")
  case object Long extends JobClass("long")

  /** The more urgent one first: grants are bound in this order. */
  val all: Seq[JobClass] = Seq(Short, Long)

  def parse(name: String): Option[JobClass] = all.find(_.name == name)

  /** Throws a Refusal that names the setting. */
  def of(name: String, setting: String): JobClass = parse(name).getOrElse(
    throw new Refusal(
      s"there is no class '$name'",
      s"setting $setting",
      "the classes are short and long, in lower case",
      s"set $setting to short or long, or leave it out and the class is found by what runs take"))

  /** An estimate equal to the cutoff is short, as for every job of Pigeon. */
  def byEstimate(estimateNanos: scala.Long, cutoffNanos: scala.Long): JobClass =
    if (estimateNanos <= cutoffNanos) Short else Long
}
