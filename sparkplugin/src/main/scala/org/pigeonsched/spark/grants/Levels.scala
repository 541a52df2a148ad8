package org.pigeonsched.spark.grants

import scala.collection.mutable

import org.pigeonsched.spark.JobClass

/**
 * What the application wants of the cluster, level by level; a level is a stage attempt with its
 * class.
 *
 * The daemons are told totals: all grants wanted since the level began, those had included. So
 * news that cross each other, and repetitions, change nothing. What is outstanding (total - had) is
 * in a master's queue or on its way. A grant may be bound to any task of its class, because Spark's
 * own order (FIFO, FAIR) decides then; so it is for each class, not for each level, that
 *
 *   sum of outstanding = max(0, sum of pending tasks - grants held)
 *
 * and a total moves only when the sums differ: moving it costs its place in the queue.
 *
 * Not synchronised: the task scheduler's lock guards it.
 */
final class Levels {
  import Levels._

  private val levels = mutable.LinkedHashMap[String, Entry]()

  /** A level appears, or is described anew; its numbers stay. */
  def put(description: Description): Unit =
    levels.get(description.name) match {
      case Some(entry) => entry.description = description
      case None => levels(description.name) = new Entry(description)
    }

  /** Nothing more is wanted of it. */
  def remove(name: String): Unit = levels.remove(name)

  def names: Seq[String] = levels.keysIterator.toList

  /** A grant of this level reached the driver. */
  def arrived(name: String): Unit = levels.get(name).foreach { e =>
    e.had += 1
    e.total = math.max(e.total, e.had)
  }

  /** A grant of this level was handed back unused. now as in Backoff. */
  def declined(name: String, now: Long): Unit = levels.get(name).foreach(_.backoff.declined(now))

  /** A grant of this level was bound. */
  def used(name: String): Unit = levels.get(name).foreach(_.backoff.used())

  /**
   * Moves the totals to what is wanted now.
   *
   * @param pending tasks of each level that could start and have no grant; 0 if missing
   * @param held    grants of each class that the driver holds unbound
   */
  def settle(pending: String => Int, held: JobClass => Int, now: Long): Unit =
    JobClass.all.foreach { jobClass =>
      val mine = levels.valuesIterator.filter(_.description.jobClass == jobClass).toList
      mine.foreach(e => e.pending = if (e.backoff.paused(now)) 0 else math.max(0, pending(e.description.name)))
      val wanted = math.max(0L, mine.map(_.pending.toLong).sum - held(jobClass))
      val missing = wanted - mine.map(_.outstanding).sum
      if (missing > 0) raise(mine, missing) else if (missing < 0) lower(mine, -missing)
    }

  /** In the order in which the levels appeared. */
  def told: Seq[Told] = levels.valuesIterator.map(e => Told(e.description, e.total, e.had)).toList

  private def raise(mine: List[Entry], missing: Long): Unit = {
    var left = missing
    mine.foreach { e =>
      val more = math.min(left, math.max(0L, e.pending - e.outstanding))
      e.total += more
      left -= more
    }
  }

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

  /**
   * What a level is.
   *
   * @param estimateNanos of one task; 0 if not known
   * @param hosts         that would suit best; a hint
   * @param title         for people: which stage it is
   * @param why           for people: who decided its class
   */
  final case class Description(
      name: String,
      jobClass: JobClass,
      estimateNanos: Long,
      hosts: Seq[String],
      title: String,
      why: String)

  /** A level as the daemons are told it; 0 <= had <= total. */
  final case class Told(description: Description, total: Long, had: Long) {
    def outstanding: Long = total - had
  }

  private final class Entry(var description: Description) {
    var total = 0L
    var had = 0L
    var pending = 0
    val backoff = new Backoff
    def outstanding: Long = total - had
  }
}
