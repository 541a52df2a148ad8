package org.pigeonsched.spark.grants

import org.pigeonsched.spark.JobClass

/**
 * One slot for one piece of work.
 *
 * @param id          names it for ever; means nothing to the application
 * @param level       the level that asked for it; late binding may give it to another one of its class
 * @param leaseMillis for so long after its arrival at the executor a task that ends may be followed
 *                    by another one of the same or a more urgent class; 0: by none
 */
final case class Grant(id: String, level: String, jobClass: JobClass, leaseMillis: Int)
