package org.pigeonsched.spark.link

import scala.collection.JavaConverters._

import org.pigeonsched.spark.grants.Levels.LevelState
import org.pigeonsched.thrift.application.{TLevel, TWants}

/**
 * All that the application wants now. What exceeds a limit of the daemons is not sent, since they
 * would refuse the whole: the rest follows when there is room for it.
 *
 * @param executors how many in all; Wanted.Everywhere: one on every node with enough memory
 * @param stop      executors to be stopped and not replaced
 * @param last      the highest executor number seen: a frontend that takes over the application
 *                  numbers new executors from there
 */
final case class Wanted(executors: Int, stop: Seq[String], levels: Seq[LevelState], last: Int = 0) {
  import Wanted._

  def toThrift(application: String, incarnation: Long, sequence: Long): TWants =
    new TWants(
      application,
      incarnation,
      sequence,
      math.min(executors, MaxExecutors),
      stop.take(MaxExecutors).asJava,
      levels.take(MaxLevels).map(level).asJava).setLastExecutor(last)

  private def level(t: LevelState): TLevel = {
    val d = t.description
    val level = new TLevel(
      d.name,
      t.total,
      t.received,
      d.kind.jobClass.name,
      d.estimateNanos,
      d.hosts.asJava,
      Text.clipped(d.title, MaxTextBytes),
      Text.clipped(d.why, MaxTextBytes))
    // Fields with their usual values are left out.
    if (d.kind.owner.nonEmpty) level.setOwner(d.kind.owner)
    if (d.kind.priority != 0) level.setPriority(d.kind.priority)
    level
  }
}

object Wanted {
  val Everywhere: Int = -1
  val Nothing: Wanted = Wanted(0, Nil, Nil)

  // The limits of the daemons.
  val MaxExecutors = 10000
  val MaxLevels = 10000
  val MaxTextBytes = 1024 // of a title or a reason
}
