package org.pigeonsched.spark.grants

import org.pigeonsched.spark.grants.Levels.LevelState

/**
 * Decides when an update of the demand is worth a message: more demand is sent at once, a little
 * less is delayed.
 *
 * While tasks follow each other in slots that the application keeps, its demand shrinks by one with
 * each task. A surplus grant would be bound to any of the remaining tasks, so the update can wait
 * until the cluster would grant a quarter more than a level wants, or for a second.
 *
 * Not synchronised: the task scheduler's lock guards it. Instants are nanoseconds of a monotonic
 * clock.
 */
final class UpdateThrottle {
  import UpdateThrottle._

  private var sent: Seq[LevelState] = Nil
  private var sentAt = 0L

  /** The demand that was sent last. */
  def last: Seq[LevelState] = sent

  /** Reports whether this demand is to be sent now; if so, it counts as sent. */
  def shouldSend(now: Seq[LevelState], instant: Long): Boolean = {
    val known = sent.map(t => t.description.name -> t).toMap
    def interval =
      if (now.forall(smallChange(_, known))) SmallChangeIntervalNanos else MinIntervalNanos
    val send = now != sent && (cannotWait(now, known) || instant - sentAt > interval)
    if (send) {
      sent = now
      sentAt = instant
    }
    send
  }

  private def cannotWait(now: Seq[LevelState], known: Map[String, LevelState]): Boolean =
    now.size != sent.size || now.exists { t =>
      known.get(t.description.name).forall { k =>
        t.total > k.total || t.description != k.description ||
        (t.outstanding == 0 && k.outstanding > 0)
      }
    }

  // The surplus that the cluster would grant of the level is small, or there is none.
  private def smallChange(t: LevelState, known: Map[String, LevelState]): Boolean = {
    val tooMany = known.get(t.description.name).fold(0L)(_.outstanding - t.outstanding)
    tooMany <= 0 || tooMany * 4 < t.outstanding
  }
}

object UpdateThrottle {

  /** How long updates that can wait are delayed. */
  val MinIntervalNanos: Long = 50L * 1000 * 1000

  /** How long they are delayed when they change hardly anything. */
  val SmallChangeIntervalNanos: Long = 1000L * 1000 * 1000
}
