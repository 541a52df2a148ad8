package org.pigeonsched.spark.bench

import scala.concurrent.ExecutionContext

/**
 * Handles the end of a job on the thread that sees it: a queue in between would add to the job's
 * time.
 */
private[bench] object SameThread extends ExecutionContext {
  override def execute(r: Runnable): Unit = r.run()
  override def reportFailure(e: Throwable): Unit =
    Console.err.println(s"the end of a job was not recorded: $e")
}
