package org.pigeonsched.spark.grants

import org.pigeonsched.spark.grants.Levels.Told

/**
 * When the cluster is told what is wanted: more at once, a little less when it is worth a message.
 *
 * While tasks follow each other in slots that the application keeps, what it wants shrinks by one
 * with each. A grant too many would be bound to any of the tasks that are left, so that can wait:
 * until the cluster would grant a quarter more than is wanted, or for a second.
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
    val due = now != told && (urgent(now) || instant - at > (if (fewTooMany(now)) LongNanos else CalmNanos))
    if (due) {
      told = now
      at = instant
    }
    due
  }

  private def urgent(now: Seq[Told]): Boolean = {
    val before = told.map(t => t.description.name -> t).toMap
    now.size != told.size || now.exists { t =>
      before.get(t.description.name).forall { b =>
        t.total > b.total || (t.outstanding == 0 && b.outstanding > 0) || t.description != b.description
      }
    }
  }

  private def fewTooMany(now: Seq[Told]): Boolean = {
    val wanted = now.map(_.outstanding).sum
    (told.map(_.outstanding).sum - wanted) * 4 < wanted
  }
}

object Telling {
  /** News that can wait do so for this long. */
  val CalmNanos: Long = 50L * 1000 * 1000
  /** And for this long when hardly anything changes by them. */
  val LongNanos: Long = 1000L * 1000 * 1000
}
