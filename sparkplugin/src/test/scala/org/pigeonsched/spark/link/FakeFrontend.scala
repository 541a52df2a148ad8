package org.pigeonsched.spark.link

import java.io.ByteArrayOutputStream
import java.net.{InetAddress, InetSocketAddress}
import java.nio.ByteBuffer
import java.util.Collections
import java.util.concurrent.{ConcurrentLinkedQueue, LinkedBlockingQueue, Semaphore, TimeUnit}
import javax.net.ssl.SSLContext

import scala.collection.JavaConverters._

import org.apache.thrift.TProcessor
import org.apache.thrift.protocol.{TBinaryProtocol, TMessage, TProtocol, TProtocolDecorator}
import org.apache.thrift.server.TThreadPoolServer
import org.apache.thrift.transport.TServerSocket
import org.apache.thrift.transport.layered.TFramedTransport

import org.pigeonsched.spark.Address
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application._
import org.pigeonsched.thrift.identity.{IdentityService, TPrincipal}

/**
 * A frontend that accepts every application, until refuse is called: by TLS if it has a context,
 * and after a token if it knows one.
 */
final class FakeFrontend(tls: Option[SSLContext] = None)
  extends ApplicationService.Iface
  with IdentityService.Iface {

  private val socket = tls match {
    case Some(c) => new TServerSocket(c.getServerSocketFactory
        .createServerSocket(0, 50, InetAddress.getByName("127.0.0.1")))
    case None => new TServerSocket(new InetSocketAddress("127.0.0.1", 0))
  }
  private val server = new TThreadPoolServer(new TThreadPoolServer.Args(socket)
    .processor(new FakeFrontend.Both(
      new ApplicationService.Processor[ApplicationService.Iface](this),
      new IdentityService.Processor[IdentityService.Iface](this)))
    .protocolFactory(
      new TBinaryProtocol.Factory()).transportFactory(new TFramedTransport.Factory()))
  private val thread = new Thread(() => server.serve(), "fake-frontend")
  private val changed = new Semaphore(0)

  @volatile private var refusal: Option[TPigeonException] = None

  /** The token that is accepted; "" when none is required. */
  @volatile var token = ""

  /** The executors that the news name. */
  @volatile private var states: Seq[TExecutorState] = Nil

  /** The SHA-256 of a file that it lacks until it is sent; empty for none. */
  @volatile var missing = ""

  /** How fast files arrive, as over a slow link; 0: at once. */
  @volatile var bytesASecond = 0L

  /** The bytes of files that were sent. */
  val received = new ByteArrayOutputStream

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

  /** From now on it is at its limit. */
  def beFull(): Unit =
    deny(new TPigeonException("it is full", "frontend", "", "register with another", 3, 0))

  /** From now on this is a standby that knows no leader. */
  def standByAlone(): Unit =
    deny(new TPigeonException("it is a standby", "frontend", "", "try again", 4, 0))

  /** From now on each call receives this answer, until allow is called. */
  def deny(e: TPigeonException): Unit = {
    refusal = Some(e)
    changed.release(1000)
  }

  def allow(): Unit = refusal = None

  /** From now on this is a standby, and that one leads. */
  def standBy(leader: Address): Unit = {
    val e = new TPigeonException("it is a standby", "frontend", "", "call it there", 4, 0)
    e.setAddress(leader.toString)
    refusal = Some(e)
    changed.release(1000)
  }

  /** From now on the news name these executors. */
  def report(executors: TExecutorState*): Unit = {
    states = executors
    changed.release()
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
      Seq(missing).filter(_.nonEmpty).asJava,
      15000,
      Collections.emptyList[String](),
      0)
  }

  override def authenticate(text: String): TPrincipal = {
    calls.add("authenticate")
    if (text != token) throw new TPigeonException("it is not known here", "token", "", "ask", 6, 0)
    new TPrincipal("alice", "user", "token", 0)
  }

  override def registerApplication(application: TApplication): TApplicationReply = reply("register")
  override def want(wants: TWants): TApplicationReply = {
    executors.put(wants.getExecutors)
    reply("want")
  }
  override def putFile(application: String, sha256: String, offset: Long, data: ByteBuffer): Long =
    received.synchronized {
      val piece = new Array[Byte](data.remaining)
      data.get(piece)
      if (bytesASecond > 0) Thread.sleep(1000L * piece.length / bytesASecond)
      received.write(piece)
      missing = ""
      received.size.toLong
    }
  override def endApplication(application: String, incarnation: Long): Unit = reply("end")

  override def news(
      application: String,
      incarnation: Long,
      version: Long,
      waitMillis: Int): TNews = {
    changed.tryAcquire(waitMillis.toLong, TimeUnit.MILLISECONDS)
    reply("news")
    new TNews(version, states.asJava, Collections.emptyList[String]())
  }
}

private object FakeFrontend {

  /** Two services on one port, as a frontend has them. */
  private final class Both(application: TProcessor, identity: TProcessor) extends TProcessor {
    override def process(in: TProtocol, out: TProtocol): Unit = {
      val begin = in.readMessageBegin()
      val to = if (begin.name == "authenticate") identity else application
      val rest = new TProtocolDecorator(in) {
        override def readMessageBegin(): TMessage = begin
      }
      to.process(rest, out)
    }
  }
}
