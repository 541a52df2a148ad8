package org.pigeonsched.spark.classes

import java.util.{LinkedHashMap => LruMap, Map => JavaMap}

/**
 * The durations of the tasks of earlier runs of a stage, within one application. A stage is
 * recognised by its key: where it was called, and the shape of its plan. The least recently used
 * keys are evicted first.
 *
 * Safe for use by any thread: written by Spark's listener bus, read when a stage is submitted.
 */
final class History(maxKeys: Int = History.MaxKeys) {

  private val byKey = new LruMap[String, Durations](64, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Durations]): Boolean =
      size > maxKeys
  }

  def took(key: String, nanos: Long): Unit = synchronized {
    var durations = byKey.get(key)
    if (durations == null) {
      durations = new Durations
      byKey.put(key, durations)
    }
    durations.add(nanos)
  }

  /** Returns the median of one task, with the number of tasks it is based on. */
  def estimate(key: String): Option[(Long, Int)] = synchronized {
    Option(byKey.get(key)).flatMap(d => d.median.map(_ -> d.size))
  }

  def size: Int = synchronized(byKey.size)
}

object History {
  val MaxKeys = 1000
}
