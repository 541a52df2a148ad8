package org.pigeonsched.spark.grants

import org.pigeonsched.spark.JobClass

/**
 * One slot for one piece of work.
 *
 * @param id          names it for ever; means nothing to the application
 * @param level       the level that asked for it; late binding may give it to another one of its class
 * @param leaseMillis from its arrival at the executor, the slot may be kept for a next task for so
 *                    long; 0: it may not
 */
final case class Grant(id: String, level: String, jobClass: JobClass, leaseMillis: Int)
