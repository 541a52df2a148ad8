package org.pigeonsched.spark.link

import org.apache.spark.internal.Logging

import org.pigeonsched.spark.Refusal

/**
 * The authorities of a cluster as their file names them now. Operators may add one while the
 * application runs; an application that does not learn of it could not connect to a frontend which
 * has restarted with a certificate of the new one.
 *
 * The constructor throws a Refusal when the file cannot be used. Later, what was read before stays
 * in force. Safe for use by any thread.
 */
private[link] final class AuthorityFile(file: String) extends Logging {

  private var read = new Authority(file) // guarded by this

  def now: Authority = synchronized {
    try read = new Authority(file)
    catch {
      case e: Refusal => logWarning(s"${e.getMessage} What was read before counts.")
    }
    read
  }
}
