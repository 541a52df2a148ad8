package org.apache.spark.scheduler.cluster.pigeon

import org.pigeonsched.spark.grants.Grant

// What driver and executor say of grants, over Spark's own RPC. Messages of one side to the other
// keep their order, and theirs with Spark's own: a Bind comes before its task, a Kept before the
// status update of the task that left the slot.

/** Executor to driver: these slots are yours to use. */
private[spark] final case class Granted(executorId: String, grants: Seq[Grant])

/** Executor to driver: the slot of a task that is over may be used again, if at once. */
private[spark] final case class Kept(executorId: String, grant: Grant)

/** Executor to driver: the executor ended these grants itself, no task of yours runs in them. */
private[spark] final case class Expired(executorId: String, grants: Seq[String], reason: String)

/** Driver to executor: the task runs in this slot. */
private[spark] final case class Bind(grant: String, taskId: Long)

/** Driver to executor: no use for these. */
private[spark] final case class Release(grants: Seq[String])
