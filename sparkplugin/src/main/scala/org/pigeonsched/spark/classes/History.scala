package org.pigeonsched.spark.classes

import java.util.{LinkedHashMap => LruMap, Map => JavaMap}

/**
 * What the tasks of earlier runs of a stage took, within one application. A stage is known again by
 * its key: where it was called, and the shape of its plan. The least recently used keys go first.
 *
 * Safe for any thread: written by Spark's listener bus, read when a stage is submitted.
 */
final class History(maxKeys: Int = History.MaxKeys) {

  private val byKey = new LruMap[String, Durations](64, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Durations]): Boolean = size > maxKeys
  }

  def took(key: String, nanos: Long): Unit = synchronized {
    var durations = byKey.get(key)
    if (durations == null) {
      durations = new Durations
      byKey.put(key, durations)
    }
    durations.add(nanos)
  }

  /** The median of one task, with the number of tasks it rests on. */
  def estimate(key: String): Option[(Long, Int)] = synchronized {
    Option(byKey.get(key)).flatMap(d => d.median.map(_ -> d.size))
  }

  def size: Int = synchronized(byKey.size)
}

object History {
  val MaxKeys = 1000
}
