package org.pigeonsched.spark.grants

import org.pigeonsched.spark.JobClass

/**
 * The right to use one slot for one piece of work.
 *
 * @param id          never used twice; opaque to the application
 * @param level       the level that wanted it; late binding may use it for another level of the
 *                    same kind
 * @param leaseMillis how long after its arrival at the executor a task that ends may be followed by
 *                    another task of the same or a more urgent class; 0: never
 */
final case class Grant(id: String, level: String, jobClass: JobClass, leaseMillis: Int)
