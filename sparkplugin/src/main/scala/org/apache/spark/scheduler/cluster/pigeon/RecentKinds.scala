package org.apache.spark.scheduler.cluster.pigeon

import java.util.{LinkedHashMap, Map => JMap}

import org.pigeonsched.spark.grants.{Grant, Kind}

/**
 * The kinds of the last levels, also of those that have ended: their grants may still arrive, and
 * their slots may be kept.
 *
 * Used only under the task scheduler's lock.
 */
private[spark] final class RecentKinds(most: Int = RecentKinds.Most) {

  private val kinds = new LinkedHashMap[String, Kind](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JMap.Entry[String, Kind]): Boolean = size > most
  }

  def put(level: String, kind: Kind): Unit = kinds.put(level, kind)

  /**
   * Returns what the grant may be used for. A grant of a forgotten level serves an owner that no
   * work has, so that it is returned.
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
