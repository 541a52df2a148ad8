package org.apache.spark.scheduler.cluster.pigeon

import org.pigeonsched.spark.grants.Grant

// The messages between driver and executor about grants, over Spark's own RPC. Messages in one
// direction keep their order, also among Spark's own: a Bind arrives before its task, a Kept before
// the status update of the task that left the slot.

/** Executor to driver, before its first grants: so long its process took to be ready. */
private[spark] final case class Started(executorId: String, nanos: Long)

/** Executor to driver: these slots may be used. */
private[spark] final case class Granted(executorId: String, grants: Seq[Grant])

/** Executor to driver: the slot of a task that has ended may be used again, if at once. */
private[spark] final case class Kept(executorId: String, grant: Grant)

/**
 * Executor to driver: the executor ended these grants by itself; no task of the driver runs in
 * them.
 */
private[spark] final case class Expired(executorId: String, grants: Seq[String], reason: String)

/** Driver to executor: the task runs in this slot. */
private[spark] final case class Bind(grant: String, taskId: Long)

/** Driver to executor: these grants are not needed. */
private[spark] final case class Release(grants: Seq[String])
