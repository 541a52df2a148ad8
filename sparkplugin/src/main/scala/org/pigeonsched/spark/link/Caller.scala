package org.pigeonsched.spark.link

import org.apache.thrift.TException
import org.apache.thrift.protocol.TProtocol

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application.ApplicationService

/** A call failed with this error of the connection, or of what it carried. */
private[link] final class FailedCall(frontend: Address, error: TException)
  extends TException(s"frontend $frontend: ${error.getMessage}", error)

/**
 * Makes the calls of one thread to the frontend in use: connects, registers where necessary, and
 * moves on to the next frontend when one fails, serves no one now, does not prove its identity or
 * denies the driver, or to the one that a standby names. A failed call is not repeated here: what
 * is sent is a state, and the thread sends the newest one.
 */
private[link] final class Caller(
    frontends: Frontends,
    registration: Registration,
    answerMillis: Int,
    security: Security = Security.Open) {

  private var open
      : Option[(Address, Connection[ApplicationService.Client], ApplicationService.Client)] = None
  @volatile private var closed = false

  /**
   * f receives the client and the number of the registration. Throws the frontend's refusal, or a
   * FailedCall.
   */
  def apply[T](f: (ApplicationService.Client, Int) => T): T = {
    val address = frontends.current
    try {
      val client = connected(address)
      f(client, registration.ensure(address, client))
    } catch {
      case e: TPigeonException =>
        val elsewhere = Refusal.isTemporary(e)
        if (e.getProblem == Refusal.NotFound || elsewhere) registration.lost(address)
        if (elsewhere) leave(address, e)
        // One side's proof has expired: that of this frontend, and others may have newer ones, or
        // that of the caller, which the next connection proves again.
        if (e.getProblem == Refusal.Denied) {
          drop()
          if (!closed) frontends.failed(address)
        }
        throw e
      case e: TException =>
        drop()
        if (!closed) {
          registration.lost(address)
          frontends.failed(address)
        }
        throw new FailedCall(address, e)
    }
  }

  /** May be called by any thread: a call in progress fails at once. */
  def close(): Unit = {
    closed = true
    drop()
  }

  // It is at its limit, stands by or stops: another one may serve the application.
  private def leave(address: Address, e: TPigeonException): Unit =
    if (e.getProblem == Refusal.NotReady && Address.parse(e.getAddress).isDefined) {
      frontends.moved(address, e.getAddress)
    } else frontends.failed(address)

  private def connected(address: Address): ApplicationService.Client = synchronized {
    if (open.exists(_._1 != address)) drop()
    open.fold {
      val connection =
        new Connection(
          address,
          (p: TProtocol) => new ApplicationService.Client(p),
          answerMillis,
          security)
      val client = connection.open()
      if (closed) {
        connection.close()
        throw new org.apache.thrift.transport.TTransportException("the link is closed")
      }
      open = Some((address, connection, client))
      client
    }(_._3)
  }

  private def drop(): Unit = {
    val was = open
    open = None
    was.foreach(_._2.close())
  }
}
