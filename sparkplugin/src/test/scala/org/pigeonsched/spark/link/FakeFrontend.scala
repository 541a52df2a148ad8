package org.pigeonsched.spark.link

import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.util.Collections
import java.util.concurrent.{ConcurrentLinkedQueue, LinkedBlockingQueue, Semaphore, TimeUnit}

import org.apache.thrift.protocol.TBinaryProtocol
import org.apache.thrift.server.TThreadPoolServer
import org.apache.thrift.transport.TServerSocket
import org.apache.thrift.transport.layered.TFramedTransport

import org.pigeonsched.spark.Address
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application._

/** A frontend that accepts every application, until refuse is called. */
private[spark] final class FakeFrontend extends ApplicationService.Iface {

  private val socket = new TServerSocket(new InetSocketAddress("127.0.0.1", 0))
  private val server = new TThreadPoolServer(new TThreadPoolServer.Args(socket)
    .processor(new ApplicationService.Processor[ApplicationService.Iface](this))
    .protocolFactory(
      new TBinaryProtocol.Factory()).transportFactory(new TFramedTransport.Factory()))
  private val thread = new Thread(() => server.serve(), "fake-frontend")
  private val changed = new Semaphore(0)

  @volatile private var refusal: Option[TPigeonException] = None

  /** The names of the calls, in order. */
  val calls = new ConcurrentLinkedQueue[String]()

  /** How many executors each want calls for, in order. */
  val executors = new LinkedBlockingQueue[Integer]()

  val address: Address = Address("127.0.0.1", socket.getServerSocket.getLocalPort)

  def start(): FakeFrontend = {
    thread.setDaemon(true)
    thread.start()
    this
  }

  /** From now on the application can never be served. */
  def refuse(what: String): Unit = {
    refusal = Some(new TPigeonException(what, "application", "", "end", 1, 0))
    changed.release(1000)
  }

  /** From now on this is a standby, and that one leads. */
  def standBy(leader: Address): Unit = {
    val e = new TPigeonException("it is a standby", "frontend", "", "call it there", 4, 0)
    e.setAddress(leader.toString)
    refusal = Some(e)
    changed.release(1000)
  }

  def close(): Unit = {
    changed.release(1000)
    server.stop()
    thread.join(10000)
  }

  private def reply(call: String): TApplicationReply = {
    calls.add(call)
    refusal.foreach(throw _)
    new TApplicationReply(
      Collections.emptyList[String](),
      15000,
      Collections.emptyList[String](),
      0)
  }

  override def registerApplication(application: TApplication): TApplicationReply = reply("register")
  override def want(wants: TWants): TApplicationReply = {
    executors.put(wants.getExecutors)
    reply("want")
  }
  override def putFile(application: String, sha256: String, offset: Long, data: ByteBuffer): Long =
    0
  override def endApplication(application: String, incarnation: Long): Unit = reply("end")

  override def news(
      application: String,
      incarnation: Long,
      version: Long,
      waitMillis: Int): TNews = {
    changed.tryAcquire(waitMillis.toLong, TimeUnit.MILLISECONDS)
    reply("news")
    new TNews(version, Collections.emptyList[TExecutorState](), Collections.emptyList[String]())
  }
}
