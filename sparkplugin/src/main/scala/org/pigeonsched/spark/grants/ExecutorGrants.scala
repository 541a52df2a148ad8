package org.pigeonsched.spark.grants

import scala.collection.mutable

/**
 * The grants of one executor, from their arrival to their end.
 *
 * {{{
 *   arrived --> held -- bind --> bound -- task starts --> running -- task ends --> ended
 *                |                 |                         |            ^
 *                | release,        | no start in time        | lease left | release, timeout
 *                v timeout         v                         v            |
 *              ended             ended                      kept -- bind --> running
 * }}}
 *
 * The driver decides what a grant is used for. The executor reports its end to the node monitor,
 * exactly once, and ends by itself the grants that the driver left unanswered. Instants are
 * nanoseconds of a monotonic clock. Safe for use by any thread; no callback is made while the lock
 * is held.
 *
 * @param timeoutNanos how long a grant may wait for the driver, or a bound task for its start
 */
final class ExecutorGrants(timeoutNanos: Long) {
  import ExecutorGrants._

  private val grants = mutable.LinkedHashMap[String, Entry]()
  private val byTask = mutable.HashMap[Long, Entry]()

  /** Adds grants and returns the new ones among them, which are to be relayed to the driver. */
  def arrived(batch: Seq[Grant], now: Long): Seq[Grant] = synchronized {
    val fresh = batch.filterNot(g => grants.contains(g.id))
    fresh.foreach(g => grants(g.id) = new Entry(g, now))
    fresh
  }

  /** Other applications need these slots: no further task may start under their leases. */
  def giveBack(ids: Seq[String]): Unit = synchronized {
    ids.flatMap(grants.get).foreach(_.mayKeep = false)
  }

  /**
   * The driver bound a task to the slot. Returns false if the grant has ended: the task then runs
   * without one.
   */
  def bind(id: String, task: Long, now: Long): Boolean = synchronized {
    grants.get(id) match {
      case Some(e) if e.task.isEmpty =>
        e.task = Some(task)
        e.running = false
        e.since = now
        byTask(task) = e
        true
      case _ => false
    }
  }

  /** The task of a bound grant has started. */
  def started(task: Long, now: Long): Unit = synchronized {
    byTask.get(task).filterNot(_.running).foreach { e =>
      e.running = true
      e.since = now
    }
  }

  /**
   * The task has ended: returns whether its slot is kept for another task or its grant has ended.
   */
  def finished(task: Long, now: Long): Outcome = synchronized {
    byTask.remove(task).fold[Outcome](Unknown) { e =>
      if (e.running) e.usedNanos += now - e.since
      e.ran += 1
      e.running = false
      e.task = None
      e.since = now
      if (e.leased(now)) Kept(e.grant) else Over(end(e, ""))
    }
  }

  /** Ends grants that the driver does not need. */
  def released(ids: Seq[String]): Seq[End] = synchronized {
    ids.flatMap(grants.get).filter(_.task.isEmpty).map(end(_, ""))
  }

  /** Ends the grants that were left unanswered for too long; the driver is to be informed. */
  def overdue(now: Long): Seq[End] = synchronized {
    grants.valuesIterator.filter(e => !e.running && now - e.since > timeoutNanos).toList.map { e =>
      e.task.foreach(byTask.remove)
      end(e, e.task.fold("the driver did not answer")(t => s"task $t was bound and never started"))
    }
  }

  def size: Int = synchronized(grants.size)

  private def end(e: Entry, reason: String): End = {
    grants.remove(e.grant.id)
    val how = if (reason.nonEmpty) CouldNotUse else if (e.ran == 0) Unused else Used
    End(e.grant, how, e.ran, e.usedNanos, reason)
  }
}

object ExecutorGrants {

  /** The ways in which a grant ends, as thrift/application.thrift numbers them. */
  val Used = 0
  val Unused = 1
  val CouldNotUse = 2

  final case class End(grant: Grant, how: Int, ran: Int, usedNanos: Long, reason: String)

  sealed trait Outcome

  /** The slot waits for the next task of the driver. */
  final case class Kept(grant: Grant) extends Outcome
  final case class Over(end: End) extends Outcome

  /** The task ran under no grant. */
  case object Unknown extends Outcome

  // since: when the grant entered its present state.
  private final class Entry(val grant: Grant, val arrivedAt: Long) {
    var since: Long = arrivedAt
    var task: Option[Long] = None
    var running = false
    var mayKeep: Boolean = grant.leaseMillis > 0
    var ran = 0
    var usedNanos = 0L
    def leased(now: Long): Boolean = mayKeep && now - arrivedAt < grant.leaseMillis * 1000000L
  }
}
