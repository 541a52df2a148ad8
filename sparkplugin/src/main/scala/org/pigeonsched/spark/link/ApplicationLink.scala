package org.pigeonsched.spark.link

import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference}
import java.util.concurrent.locks.ReentrantLock

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.apache.thrift.TException

import org.apache.spark.internal.Logging

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application.TApplication

/**
 * The driver's connection to the cluster. The driver connects to a frontend and listens for
 * nothing.
 *
 * {{{
 *   start --> registered --+-- pigeon-wants: sends the newest Wanted on a change and each second
 *     |                    +-- pigeon-news:  long poll for the states of the executors
 *     | no answer in time               | a frontend fails: the link registers with the next one
 *     v                                 v and sends and polls everything again
 *   Refusal                           close --> endApplication
 * }}}
 *
 * A frontend that answers that the application can never be served (it was cancelled, or another
 * process uses its id) is not called again: the listener is informed and ends the application.
 */
final class ApplicationLink(
    application: TApplication,
    files: Seq[ShippedFile],
    frontends: Frontends,
    listener: ApplicationLink.Listener,
    security: Security = Security.Open)
  extends Logging {
  import ApplicationLink._

  private val registration = new Registration(application, files, frontends)
  private val wantsCaller = new Caller(frontends, registration, Connection.AnswerMillis, security)
  private val newsCaller =
    new Caller(frontends, registration, Connection.AnswerMillis + NewsWaitMillis, security)

  private val wanted = new AtomicReference[Wanted](Wanted.Nothing)
  private val lock = new ReentrantLock
  private val changed = lock.newCondition()
  private var unsent = false // guarded by lock

  // Used only by the wants thread.
  private var sequence = 0L
  // Used only by the news thread.
  private var version = 0L
  private var versionRegistration = 0

  private val wantsLoop =
    new Loop("pigeon-wants", e => { signalChange(); stopIfRejected(e) }, () => sendWanted())
  private val newsLoop = new Loop("pigeon-news", stopIfRejected, () => pollNews())
  private val rejected = new AtomicBoolean
  @volatile private var started = false
  @volatile private var over = false

  def cutoffNanos: Long = registration.cutoffNanos

  /** Registers, trying each frontend in turn, and starts both threads. Throws a Refusal. */
  def start(withinMillis: Long): Unit = {
    registerWithin(withinMillis)
    started = true
    wantsLoop.start()
    newsLoop.start()
  }

  /** Sets the state that is sent from now on. Never blocks on the network. */
  def setWanted(state: Wanted): Unit = {
    wanted.set(state)
    signalChange()
  }

  /**
   * Ends the application. Blocks until the threads have ended, some seconds at most. May be
   * called twice.
   */
  def close(): Unit = if (!over) {
    over = true
    if (started) {
      Seq(wantsLoop, newsLoop).foreach(_.stop())
      Seq(wantsCaller, newsCaller).foreach(_.close())
      Seq(wantsLoop, newsLoop).foreach(_.join(CloseMillis))
      end()
    }
  }

  private def stopIfRejected(e: Throwable): Unit = e match {
    case p: TPigeonException
        if p.getProblem == Refusal.Invalid && rejected.compareAndSet(false, true) =>
      Seq(wantsLoop, newsLoop).foreach(_.stopAfterStep())
      listener.rejected(Refusal.of(p))
    case _ =>
  }

  private def end(): Unit = if (!rejected.get) {
    val caller = new Caller(frontends, registration, CloseMillis.toInt, security)
    try caller((client, _) => client.endApplication(application.getId, application.getIncarnation))
    catch {
      case e: TException =>
        logWarning(
          s"the cluster did not receive the end of ${application.getId} (${e.getMessage});" +
            " its lease ends it")
    } finally caller.close()
  }

  private def registerWithin(millis: Long): Unit = {
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis)
    val tried = mutable.Set[Address]()
    val caller = new Caller(frontends, registration, FirstAnswerMillis, security)
    var done = false
    try while (!done) {
        val at = frontends.current
        try {
          caller((_, _) => done = true)
        } catch {
          // Waiting does not help against a denial, but another frontend may have a certificate
          // that is still good.
          case e: TPigeonException if e.getProblem == Refusal.Denied =>
            tried.add(at)
            if (frontends.all.forall(tried)) throw Refusal.of(e)
            warnFailed(at, e, millis)
            frontends.useUntried(tried)
          case e: TPigeonException if !Refusal.isTemporary(e) => throw Refusal.of(e)
          case e: TException =>
            if (tried.add(at)) warnFailed(at, e, millis)
            // A frontend that hangs may have used up the time of the others, and standbys that
            // name one another would never leave them a turn.
            if (System.nanoTime() - deadline > 0) {
              if (frontends.all.forall(tried)) throw unreachable(e)
              frontends.useUntried(tried)
            }
            Thread.sleep(RetryMillis)
        }
      }
    finally caller.close()
  }

  private def warnFailed(frontend: Address, e: TException, millis: Long): Unit = logWarning(
    s"Frontend $frontend of Pigeon does not ${problem(e)}." +
      s" Registering application ${application.getId} is tried with all of" +
      s" ${frontends.all.mkString(", ")} in turn, for ${millis / 1000} s.")

  private def problem(e: TException): String = e match {
    case p: TPigeonException => s"register the application (${Refusal.of(p).getMessage})"
    case f: FailedCall => s"answer (${f.getCause.getMessage})"
    case _ => s"answer (${e.getMessage})"
  }

  private def unreachable(e: TException): Refusal = e match {
    case p: TPigeonException => Refusal.of(p)
    case _ => new Refusal(
        "no frontend of Pigeon answers",
        s"application ${application.getId}",
        s"tried ${frontends.all.mkString(", ")}; the last error was: ${e.getMessage}",
        "start the cluster ('pigeon dev', or 'pigeon frontend' on its host)" +
          " or correct the master URL",
        e)
  }

  private def signalChange(): Unit = {
    lock.lock()
    try {
      unsent = true
      changed.signal()
    } finally lock.unlock()
  }

  // Waits for a change, for a second at most: sending the state again repairs a lost update.
  private def sendWanted(): Unit = {
    lock.lockInterruptibly()
    try {
      if (!unsent) changed.await(ResendMillis, TimeUnit.MILLISECONDS)
      unsent = false
    } finally lock.unlock()
    wantsCaller { (client, _) =>
      sequence += 1
      registration.handleReply(
        client.want(wanted.get.toThrift(application.getId, application.getIncarnation, sequence)),
        client)
    }
  }

  private def pollNews(): Unit = newsCaller { (client, number) =>
    if (number != versionRegistration) {
      versionRegistration = number
      version = 0
    }
    val wait = math.min(NewsWaitMillis, math.max(1, registration.leaseMillis / 3))
    val reply = client.news(application.getId, application.getIncarnation, version, wait)
    version = reply.getVersion
    if (reply.getExecutors != null) {
      reply.getExecutors.asScala.foreach(e => listener.executor(ExecutorState.of(e)))
    }
    if (reply.getNotes != null) reply.getNotes.asScala.foreach(listener.note)
  }
}

object ApplicationLink {

  /** Is called by the news thread; may block only briefly. */
  trait Listener {
    def executor(state: ExecutorState): Unit
    def note(text: String): Unit

    /**
     * The cluster will never serve the application again. Is called at most once, by either thread.
     */
    def rejected(why: Refusal): Unit
  }

  val NewsWaitMillis = 5000
  val ResendMillis = 1000L
  val RetryMillis = 200L

  /**
   * How long the link waits for a frontend that accepts the connection and does not answer, while
   * there may be others.
   */
  val FirstAnswerMillis = 3000
  val CloseMillis = 3000L
}
