package org.pigeonsched.spark.grants

import scala.collection.mutable

/**
 * The grants that have reached the driver and are not bound to a task yet, by executor.
 *
 * A grant is held from its arrival to the next offer of its executor, when it is either bound or
 * released, so the table is small. Not synchronised: the task scheduler's lock guards it.
 */
final class HeldGrants {
  import HeldGrants._

  private val byExecutor = mutable.LinkedHashMap[String, mutable.ArrayBuffer[Held]]()

  /** Adds a grant. Returns false if it is held already. */
  def arrived(executor: String, grant: Held): Boolean = {
    val held = byExecutor.getOrElseUpdate(executor, mutable.ArrayBuffer[Held]())
    val fresh = !held.exists(_.grant.id == grant.grant.id)
    if (fresh) held += grant
    fresh
  }

  /** Returns how many tasks of the kind may start at the executor. */
  def count(executor: String, kind: Kind): Int =
    byExecutor.get(executor).fold(0)(_.count(_.serves(kind)))

  /** Returns how many grants of the kind are held. */
  def count(kind: Kind): Int = byExecutor.valuesIterator.map(_.count(_.kind == kind)).sum

  def size: Int = byExecutor.valuesIterator.map(_.size).sum

  /**
   * Removes and returns a grant for a task of the kind: one of the level if there is one, else the
   * oldest of the kind, else the oldest kept slot that it may use.
   */
  def take(executor: String, kind: Kind, level: String): Option[Held] =
    byExecutor.get(executor).flatMap { held =>
      val own = held.indexWhere(h => h.kind == kind && h.grant.level == level)
      val alike = if (own >= 0) own else held.indexWhere(_.kind == kind)
      val at = if (alike >= 0) alike else held.indexWhere(_.serves(kind))
      if (at < 0) None else Some(removeAt(executor, held, at))
    }

  /** Removes and returns the grants held for an executor. */
  def takeAll(executor: String): Seq[Held] =
    byExecutor.remove(executor).map(_.toList).getOrElse(Nil)

  /**
   * Removes and returns the grants that arrived before the instant: their executor has not been
   * offered since.
   */
  def takeOlder(before: Long): Seq[(String, Held)] = {
    val old = byExecutor.toList.flatMap { case (executor, held) =>
      held.toList.filter(_.at - before < 0).map(executor -> _)
    }
    old.foreach { case (executor, h) => forget(executor, h.grant.id) }
    old
  }

  /** Removes a grant that the executor ended by itself, or that was lost with it. */
  def forget(executor: String, grant: String): Unit =
    byExecutor.get(executor).foreach { held =>
      val at = held.indexWhere(_.grant.id == grant)
      if (at >= 0) removeAt(executor, held, at)
    }

  private def removeAt(executor: String, held: mutable.ArrayBuffer[Held], at: Int): Held = {
    val taken = held.remove(at)
    if (held.isEmpty) byExecutor.remove(executor)
    taken
  }
}

object HeldGrants {

  /**
   * @param kind what it may be used for
   * @param at   when it reached the driver, nanoseconds of a monotonic clock
   * @param kept a task has already run in it; its slot is kept under its lease
   */
  final case class Held(grant: Grant, kind: Kind, at: Long, kept: Boolean) {

    /** A grant serves its kind; a kept slot serves more urgent work of its owner as well. */
    def serves(other: Kind): Boolean = other == kind || kept && other.mayFollow(kind)
  }
}
