package org.pigeonsched.spark.link

import java.util.concurrent.LinkedBlockingQueue

import scala.collection.JavaConverters._

import org.apache.thrift.protocol.TProtocol

import org.pigeonsched.spark.{Address, JobClass, Refusal}
import org.pigeonsched.spark.grants.{ExecutorGrants, Grant}
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application.{ExecutorService, TGrant, TGrantEnd}

/**
 * An executor's link to the node monitor that started it: two connections, because one waits for
 * grants while the other tells their ends. After a failure both connect again; grants are answered
 * again until they are acknowledged, and an end told twice is one.
 */
final class NodeLink(who: NodeLink.Identity, slots: Int, listener: NodeLink.Listener) {
  import NodeLink._

  private val ends = new LinkedBlockingQueue[ExecutorGrants.End]()

  // Of the thread that waits.
  private var attached = false
  private var upTo = 0L
  // Of the thread that tells; what is not yet told for certain.
  private var telling: List[ExecutorGrants.End] = Nil

  private val waiting = new NodeCaller(who.node, Connection.AnswerMillis + WaitMillis)
  private val tells = new NodeCaller(who.node, Connection.AnswerMillis)
  private val awaits = new Loop("pigeon-grants", failed, () => waiting(awaitOnce))
  private val endings = new Loop("pigeon-grant-ends", _ => (), () => endOnce())

  /** The executor can take grants from now on. */
  def start(): Unit = {
    awaits.start()
    endings.start()
  }

  /** Tells, soon, that the slot is free again. */
  def end(e: ExecutorGrants.End): Unit = ends.put(e)

  /** Safe twice. The node monitor sees the process end and needs no farewell. */
  def close(): Unit = {
    Seq(awaits, endings).foreach(_.stop())
    Seq(waiting, tells).foreach(_.close())
  }

  private def awaitOnce(client: ExecutorService.Client): Unit = {
    if (!attached) {
      client.attachExecutor(who.application, who.executor, who.token, slots)
      attached = true
    }
    val heard = client.awaitGrants(who.application, who.executor, who.token, upTo, WaitMillis)
    if (heard.getGiveBack != null) listener.giveBack(heard.getGiveBack.asScala.toList)
    if (heard.getGrants != null && !heard.getGrants.isEmpty) listener.granted(heard.getGrants.asScala.toList.map(grant))
    upTo = heard.getUpTo
  }

  private def failed(e: Throwable): Unit = {
    attached = false
    e match {
      case p: TPigeonException if p.getProblem == Refusal.NotFound => listener.disowned(Refusal.of(p))
      case _ =>
    }
  }

  private def endOnce(): Unit = {
    if (telling.isEmpty) {
      val batch = new java.util.ArrayList[ExecutorGrants.End]()
      batch.add(ends.take())
      ends.drainTo(batch, MaxBatch - 1)
      telling = batch.asScala.toList
    }
    tells(_.endGrants(who.application, who.executor, who.token, telling.map(told).asJava))
    telling = Nil
  }

  private def grant(t: TGrant): Grant =
    Grant(t.getId, t.getLevel, JobClass.parse(t.getJobClass).getOrElse(JobClass.Long), t.getLeaseMillis)

  private def told(e: ExecutorGrants.End): TGrantEnd =
    new TGrantEnd(e.grant.id, e.how, e.ran, e.usedNanos, e.reason)
}

object NodeLink {

  /** Who the executor is to its node monitor. */
  final case class Identity(node: Address, application: String, executor: String, token: String)

  /** Called by the thread that waits for grants; may block only briefly. */
  trait Listener {
    def granted(grants: Seq[Grant]): Unit
    def giveBack(ids: Seq[String]): Unit
    /** The node monitor does not know this executor: it has no business here any more. */
    def disowned(why: Refusal): Unit
  }

  val WaitMillis = 10000
  val MaxBatch = 1024
}

/** The calls of one thread to the node monitor: connects where it must. */
private[link] final class NodeCaller(node: Address, answerMillis: Int) {

  private var open: Option[(Connection[ExecutorService.Client], ExecutorService.Client)] = None

  def apply[T](f: ExecutorService.Client => T): T =
    try f(connected()) catch {
      case e: TPigeonException => throw e
      case e: Exception =>
        close()
        throw e
    }

  /** From any thread: a call that waits fails at once. */
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
      val connection = new Connection(node, (p: TProtocol) => new ExecutorService.Client(p), answerMillis)
      val client = connection.open()
      open = Some((connection, client))
      client
    }(_._2)
  }
}
