package org.pigeonsched.spark.grants

import org.pigeonsched.spark.JobClass

/**
 * What a grant may be used for: tasks of one class, for one owner, of one priority. The cluster
 * chose the owner of the next task when it gave the grant, and charges the slot to that owner.
 *
 * @param owner    of the tasks; empty: the owner of the application
 * @param priority among the work of the owner; higher is served first
 */
final case class Kind(jobClass: JobClass, owner: String = "", priority: Int = 0) {

  /**
   * Whether tasks of this kind may use a slot that is kept from a task of the other: work of the
   * same owner that is more urgent, by its class or within it by its priority. Work of another
   * owner may not, because the slot is charged to the first.
   */
  def mayFollow(kept: Kind): Boolean = owner == kept.owner &&
    (jobClass.moreUrgentThan(kept.jobClass) ||
      jobClass == kept.jobClass && priority > kept.priority)
}

object Kind {

  /** The order in which grants are bound: the more urgent class first, then priority. */
  val mostUrgentFirst: Ordering[Kind] =
    Ordering.by((k: Kind) => (JobClass.all.indexOf(k.jobClass), -k.priority.toLong))
}
