package org.pigeonsched.spark.link

import java.util.concurrent.LinkedBlockingQueue

import scala.collection.JavaConverters._

import org.apache.thrift.protocol.TProtocol

import org.pigeonsched.spark.{Address, JobClass, Refusal}
import org.pigeonsched.spark.grants.{ExecutorGrants, Grant}
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application.{ExecutorService, TGrant, TGrantEnd}

/**
 * An executor's connection to the node monitor that started it: two connections, because one waits
 * for grants while the other reports their ends. After a failure both connect again; grants are
 * sent again until they are acknowledged, and an end reported twice counts once.
 */
final class NodeLink(identity: NodeLink.Identity, slots: Int, listener: NodeLink.Listener) {
  import NodeLink._

  private val ends = new LinkedBlockingQueue[ExecutorGrants.End]()

  // Used only by the grants thread.
  private var attached = false
  private var acknowledged = 0L
  // Used only by the ends thread: the ends that may not have been reported yet.
  private var unreported: List[ExecutorGrants.End] = Nil

  private val grantsCaller = new NodeCaller(identity.node, Connection.AnswerMillis + WaitMillis)
  private val endsCaller = new NodeCaller(identity.node, Connection.AnswerMillis)
  private val grantsLoop = new Loop("pigeon-grants", failed, () => grantsCaller(pollGrants))
  private val endsLoop = new Loop("pigeon-grant-ends", _ => (), () => reportEnds())

  /** Starts accepting grants. */
  def start(): Unit = {
    grantsLoop.start()
    endsLoop.start()
  }

  /**
   * Queues the report that the slot is free again. Never fails, also in a thread that is
   * interrupted, as that of a task may be: nothing else would free the slot.
   */
  def end(e: ExecutorGrants.End): Unit = ends.add(e)

  /** May be called twice. The node monitor sees the process end and needs no message. */
  def close(): Unit = {
    Seq(grantsLoop, endsLoop).foreach(_.stop())
    Seq(grantsCaller, endsCaller).foreach(_.close())
  }

  private def pollGrants(client: ExecutorService.Client): Unit = {
    if (!attached) {
      client.attachExecutor(identity.application, identity.executor, identity.token, slots)
      attached = true
    }
    val reply = client.awaitGrants(
      identity.application,
      identity.executor,
      identity.token,
      acknowledged,
      WaitMillis)
    if (reply.getGiveBack != null) listener.giveBack(reply.getGiveBack.asScala.toList)
    if (reply.getGrants != null && !reply.getGrants.isEmpty) {
      listener.granted(reply.getGrants.asScala.toList.map(fromThrift))
    }
    acknowledged = reply.getUpTo
  }

  private def failed(e: Throwable): Unit = {
    attached = false
    e match {
      case p: TPigeonException if p.getProblem == Refusal.NotFound =>
        listener.rejected(Refusal.of(p))
      case _ =>
    }
  }

  private def reportEnds(): Unit = {
    if (unreported.isEmpty) {
      val batch = new java.util.ArrayList[ExecutorGrants.End]()
      batch.add(ends.take())
      ends.drainTo(batch, MaxBatch - 1)
      unreported = batch.asScala.toList
    }
    endsCaller(_.endGrants(
      identity.application,
      identity.executor,
      identity.token,
      unreported.map(toThrift).asJava))
    unreported = Nil
  }

  private def fromThrift(t: TGrant): Grant =
    Grant(
      t.getId,
      t.getLevel,
      JobClass.parse(t.getJobClass).getOrElse(JobClass.Long),
      t.getLeaseMillis)

  private def toThrift(e: ExecutorGrants.End): TGrantEnd =
    new TGrantEnd(e.grant.id, e.how, e.ran, e.usedNanos, e.reason)
}

object NodeLink {

  /** How the executor identifies itself to its node monitor. */
  final case class Identity(node: Address, application: String, executor: String, token: String)

  /** Is called by the grants thread; may block only briefly. */
  trait Listener {
    def granted(grants: Seq[Grant]): Unit
    def giveBack(ids: Seq[String]): Unit

    /** The node monitor does not know this executor, which must end. */
    def rejected(why: Refusal): Unit
  }

  val WaitMillis = 10000
  val MaxBatch = 1024
}

/** Makes the calls of one thread to the node monitor; connects where necessary. */
private[link] final class NodeCaller(node: Address, answerMillis: Int) {

  private var open: Option[(Connection[ExecutorService.Client], ExecutorService.Client)] = None

  def apply[T](f: ExecutorService.Client => T): T =
    try f(connected())
    catch {
      case e: TPigeonException => throw e
      case e: Exception =>
        close()
        throw e
    }

  /** May be called by any thread: a call in progress fails at once. */
  def close(): Unit = {
    val was = synchronized {
      val was = open
      open = None
      was
    }
    was.foreach(_._1.close())
  }

  private def connected(): ExecutorService.Client = synchronized {
    open.fold {
      val connection =
        new Connection(node, (p: TProtocol) => new ExecutorService.Client(p), answerMillis)
      val client = connection.open()
      open = Some((connection, client))
      client
    }(_._2)
  }
}
