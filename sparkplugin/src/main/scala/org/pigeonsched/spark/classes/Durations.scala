package org.pigeonsched.spark.classes

/** The most recent durations of something, in nanoseconds: a ring of a fixed size. */
final class Durations(capacity: Int = Durations.Kept) {

  private val ring = new Array[Long](capacity)
  private var seen = 0L

  def add(nanos: Long): Unit = {
    ring((seen % capacity).toInt) = nanos
    seen += 1
  }

  def size: Int = math.min(seen, capacity.toLong).toInt

  def values: Seq[Long] = ring.take(size).toList

  /** Returns the lower median; None if there are no durations. */
  def median: Option[Long] = Durations.median(values)
}

object Durations {
  val Kept = 64

  def median(values: Seq[Long]): Option[Long] =
    if (values.isEmpty) None else Some(values.sorted.apply((values.size - 1) / 2))
}
