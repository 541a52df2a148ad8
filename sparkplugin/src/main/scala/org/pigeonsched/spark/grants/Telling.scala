package org.pigeonsched.spark.grants

import org.pigeonsched.spark.grants.Levels.Told

/**
 * When the cluster is told what is wanted: more at once, a little less when it is worth a message.
 *
 * While tasks follow each other in slots that the application keeps, what it wants shrinks by one
 * with each. A grant too many would be bound to any of the tasks that are left, so that can wait:
 * until the cluster would grant a quarter more than is wanted of a level, or for a second.
 *
 * Not synchronised: the task scheduler's lock guards it. Instants are nanoseconds of a monotonic clock.
 */
final class Telling {
  import Telling._

  private var told: Seq[Told] = Nil
  private var at = 0L

  /** What the cluster knows. */
  def last: Seq[Told] = told

  /** Whether it is to be told this now; then it knows. */
  def due(now: Seq[Told], instant: Long): Boolean = {
    val known = told.map(t => t.description.name -> t).toMap
    val due = now != told &&
      (urgent(now, known) || instant - at > (if (now.forall(few(_, known))) LongNanos else CalmNanos))
    if (due) {
      told = now
      at = instant
    }
    due
  }

  private def urgent(now: Seq[Told], known: Map[String, Told]): Boolean =
    now.size != told.size || now.exists { t =>
      known.get(t.description.name).forall { k =>
        t.total > k.total || (t.outstanding == 0 && k.outstanding > 0) || t.description != k.description
      }
    }

  // The cluster would grant few too many of the level, or none.
  private def few(t: Told, known: Map[String, Told]): Boolean = {
    val tooMany = known.get(t.description.name).fold(0L)(_.outstanding - t.outstanding)
    tooMany <= 0 || tooMany * 4 < t.outstanding
  }
}

object Telling {
  /** News that can wait do so for this long. */
  val CalmNanos: Long = 50L * 1000 * 1000
  /** And for this long when hardly anything changes by them. */
  val LongNanos: Long = 1000L * 1000 * 1000
}
