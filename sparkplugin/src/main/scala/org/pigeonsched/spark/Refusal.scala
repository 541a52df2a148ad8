package org.pigeonsched.spark

import org.pigeonsched.thrift.TPigeonException

/**
 * An error a user can act upon, in the four parts that all of Pigeon uses: what happened, to
 * which application, stage, file or address, what was tried, and what to do next.
 */
final class Refusal(
    val what: String,
    val subject: String,
    val tried: String,
    val next: String,
    cause: Throwable = null)
  extends RuntimeException(Refusal.text(what, subject, tried, next), cause)

object Refusal {

  def text(what: String, subject: String, tried: String, next: String): String =
    Seq(what, subject, tried, next).filter(p => p != null && p.nonEmpty).map(sentence).mkString(" ")

  /** The refusal of a daemon, with the daemon's text. */
  def of(e: TPigeonException): Refusal =
    new Refusal(e.getWhat, e.getSubject, e.getTried, e.getAdvice, e)

  /** Kinds of refusal, as thrift/published.thrift numbers them. */
  val Invalid = 1
  val NotFound = 2
  val Busy = 3
  val NotReady = 4

  /** The caller is not proven, or may not do it. */
  val Denied = 6

  /** Another frontend, or the same one later, may accept what this one refuses. */
  def isTemporary(e: TPigeonException): Boolean = e.getProblem == Busy || e.getProblem == NotReady

  private def sentence(part: String): String = {
    val trimmed = part.trim
    val first = trimmed.take(1).toUpperCase(java.util.Locale.ROOT) + trimmed.drop(1)
    if (first.matches("(?s).*[.!?]$")) first else first + "."
  }
}
