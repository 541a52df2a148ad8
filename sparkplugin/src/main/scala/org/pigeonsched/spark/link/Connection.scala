package org.pigeonsched.spark.link

import java.io.{BufferedInputStream, BufferedOutputStream, IOException}
import java.net.{InetSocketAddress, Socket}

import org.apache.thrift.{TConfiguration, TServiceClient}
import org.apache.thrift.protocol.{TBinaryProtocol, TProtocol}
import org.apache.thrift.transport.{TIOStreamTransport, TTransportException}
import org.apache.thrift.transport.layered.TFramedTransport

import org.pigeonsched.spark.Address

/**
 * One Thrift connection for one thread: the binary protocol in frames, as everywhere in Pigeon, by
 * TLS where the settings demand it. Bounded: a frame of more than MaxFrame bytes, or a string that
 * claims to be longer than its frame, is refused before memory is allocated for it.
 */
final class Connection[C <: TServiceClient](
    address: Address,
    client: TProtocol => C,
    answerMillis: Int,
    security: Security = Security.Open) {
  import Connection._

  private val socket = new Socket

  /**
   * Throws TTransportException when the address does not answer, TPigeonException when one side
   * does not accept the identity of the other.
   */
  def open(): C =
    try {
      socket.connect(new InetSocketAddress(address.host, address.port), ConnectMillis)
      socket.setTcpNoDelay(true)
      socket.setSoTimeout(answerMillis)
      val secured = security.secure(socket, address)
      val streams = new TIOStreamTransport(
        limits,
        new BufferedInputStream(secured.getInputStream),
        new BufferedOutputStream(secured.getOutputStream))
      val protocol =
        new TBinaryProtocol(new TFramedTransport(streams, MaxFrame), MaxFrame, MaxFrame)
      security.authenticate(protocol)
      client(protocol)
    } catch {
      case e: IOException =>
        close()
        throw new TTransportException(TTransportException.NOT_OPEN, e)
      case e: Throwable =>
        close()
        throw e
    }

  /** May be called by any thread; a call in progress fails at once. */
  def close(): Unit =
    try socket.close()
    catch { case _: IOException => }
}

object Connection {
  val ConnectMillis = 3000

  /** For a call that is answered at once; a long poll adds its wait. */
  val AnswerMillis = 10000
  val MaxFrame: Int = 16 * 1024 * 1024

  private def limits =
    new TConfiguration(MaxFrame, MaxFrame, TConfiguration.DEFAULT_RECURSION_DEPTH)
}
