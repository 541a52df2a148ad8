package org.pigeonsched.spark.grants

import scala.collection.mutable

/**
 * The demand of the application, level by level; a level is a stage attempt with its class.
 *
 * The daemons receive totals: all grants wanted since the level began, including those received. So
 * updates that arrive out of order, or twice, change nothing. The outstanding grants (total -
 * received) are in a master's queue or in transit. A grant may be bound to any task of its kind
 * (class, owner, priority), because Spark's own order (FIFO, FAIR) decides at that point; so the
 * following holds for each kind, not for each level:
 *
 *   sum of outstanding = max(0, sum of pending tasks - grants held)
 *
 * A total changes only when the sums differ, because a change costs the level its place in the
 * queue.
 *
 * A level waits for at most MaxOutstanding grants, because the daemons refuse more. A stage with
 * more pending tasks wants the rest when half of those have come, and not one by one: each raise of
 * a total is a job of the cluster.
 *
 * Not synchronised: the task scheduler's lock guards it.
 */
final class Levels {
  import Levels._

  private val levels = mutable.LinkedHashMap[String, Entry]()

  /** Adds a level, or replaces its description; its numbers stay. */
  def put(description: Description): Unit =
    levels.get(description.name) match {
      case Some(entry) => entry.description = description
      case None => levels(description.name) = new Entry(description)
    }

  /** Removes a level: it wants nothing more. */
  def remove(name: String): Unit = levels.remove(name)

  /** A grant of this level reached the driver. */
  def arrived(name: String): Unit = levels.get(name).foreach { e =>
    e.received += 1
    e.total = math.max(e.total, e.received)
  }

  /** A grant of this level was returned unused. now as in Backoff. */
  def declined(name: String, now: Long): Unit = levels.get(name).foreach(_.backoff.declined(now))

  /** A grant of this level was bound. */
  def used(name: String): Unit = levels.get(name).foreach(_.backoff.used())

  /**
   * Adjusts the totals to the present demand.
   *
   * @param pending tasks of each level that could start and have no grant; 0 if missing
   * @param held    grants of each kind that the driver holds unbound
   */
  def updateTotals(pending: String => Int, held: Kind => Int, now: Long): Unit =
    levels.valuesIterator.toList.groupBy(_.description.kind).foreach { case (kind, mine) =>
      mine.foreach(e =>
        e.pending = if (e.backoff.paused(now)) 0 else math.max(0, pending(e.description.name)))
      val wanted = math.max(0L, mine.map(_.pending.toLong).sum - held(kind))
      val missing = wanted - mine.map(_.outstanding).sum
      if (missing > 0) raise(mine, missing) else if (missing < 0) lower(mine, -missing)
    }

  /** Returns the levels in the order in which they appeared. */
  def states: Seq[LevelState] =
    levels.valuesIterator.map(e => LevelState(e.description, e.total, e.received)).toList

  private def raise(mine: List[Entry], missing: Long): Unit = {
    var left = missing
    mine.foreach { e =>
      val more = Seq(left, room(e), e.pending - e.outstanding).min.max(0L)
      e.total += more
      left -= more
    }
  }

  private def room(e: Entry): Long =
    if (e.pending > MaxOutstanding && e.outstanding > MaxOutstanding / 2) 0
    else MaxOutstanding - e.outstanding

  private def lower(mine: List[Entry], surplus: Long): Unit = {
    var left = surplus
    def drop(e: Entry, atMost: Long): Unit = {
      val less = math.min(left, math.max(0L, atMost))
      e.total -= less
      left -= less
    }
    val newestFirst = mine.reverse
    newestFirst.foreach(e => drop(e, e.outstanding - e.pending))
    newestFirst.foreach(e => drop(e, e.outstanding))
  }
}

object Levels {

  /** How many grants the daemons let a level wait for. */
  val MaxOutstanding = 100000

  /**
   * The description of a level.
   *
   * @param kind          its class, its owner and its priority
   * @param estimateNanos of one task; 0 if not known
   * @param hosts         preferred hosts; a hint
   * @param title         for users: which stage it is
   * @param why           for users: why it has its class
   */
  final case class Description(
      name: String,
      kind: Kind,
      estimateNanos: Long,
      hosts: Seq[String],
      title: String,
      why: String)

  /** A level as it is sent to the daemons; 0 <= received <= total. */
  final case class LevelState(description: Description, total: Long, received: Long) {
    def outstanding: Long = total - received
  }

  private final class Entry(var description: Description) {
    var total = 0L
    var received = 0L
    var pending = 0
    val backoff = new Backoff
    def outstanding: Long = total - received
  }
}
