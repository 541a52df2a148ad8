package org.pigeonsched.spark.link

import org.apache.thrift.{TConfiguration, TServiceClient}
import org.apache.thrift.protocol.{TBinaryProtocol, TProtocol}
import org.apache.thrift.transport.TSocket
import org.apache.thrift.transport.layered.TFramedTransport

import org.pigeonsched.spark.Address

/**
 * One Thrift connection for one thread: the binary protocol in frames, as everywhere in Pigeon.
 * Bounded: a frame of more than MaxFrame bytes, or a string that claims to be longer than its
 * frame, is refused before memory is allocated for it.
 */
final class Connection[C <: TServiceClient](
    address: Address,
    client: TProtocol => C,
    answerMillis: Int) {
  import Connection._

  private val socket = new TSocket(limits, address.host, address.port, answerMillis, ConnectMillis)
  private val transport = new TFramedTransport(socket, MaxFrame)

  /** Throws TTransportException when the address does not answer. */
  def open(): C = {
    transport.open()
    socket.getSocket.setTcpNoDelay(true)
    client(new TBinaryProtocol(transport, MaxFrame, MaxFrame))
  }

  /** May be called by any thread; a call in progress fails at once. */
  def close(): Unit = transport.close()
}

object Connection {
  val ConnectMillis = 3000

  /** For a call that is answered at once; a long poll adds its wait. */
  val AnswerMillis = 10000
  val MaxFrame: Int = 16 * 1024 * 1024

  private def limits =
    new TConfiguration(MaxFrame, MaxFrame, TConfiguration.DEFAULT_RECURSION_DEPTH)
}
