package org.apache.spark.scheduler.cluster.pigeon

import java.util.{LinkedHashMap, Map => JMap}

import org.pigeonsched.spark.grants.{Grant, Kind}

/**
 * The kinds of the last levels, also of those that have ended: grants of theirs may still arrive,
 * and slots be kept.
 *
 * Used under the task scheduler's lock alone.
 */
private[spark] final class RecentKinds(most: Int = RecentKinds.Most) {

  private val kinds = new LinkedHashMap[String, Kind](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JMap.Entry[String, Kind]): Boolean = size > most
  }

  def put(level: String, kind: Kind): Unit = kinds.put(level, kind)

  /**
   * Returns what the grant may be used for. One of a level that is forgotten serves an owner that
   * no work has, so that it is returned.
   */
  def of(grant: Grant): Kind =
    Option(kinds.get(grant.level)).getOrElse(Kind(grant.jobClass, RecentKinds.Nobody))
}

private[spark] object RecentKinds {

  /** More than the stages of which an executor keeps slots. */
  val Most = 4096

  // No valid owner.
  private val Nobody = "/"
}
