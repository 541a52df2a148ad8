package org.pigeonsched.spark.link

import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference}
import java.util.concurrent.locks.ReentrantLock

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.apache.thrift.TException
import org.slf4j.LoggerFactory

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application.TApplication

/**
 * The driver's link to the cluster. It dials out and listens for nothing.
 *
 * {{{
 *   start ──▶ registered ──┬── pigeon-wants: tells the newest Wanted when it changed, and each second
 *     │                    └── pigeon-news:  long poll, what became of the executors
 *     │ nobody answers in time          │ a frontend fails: the next one takes over;
 *     ▼                                 ▼ everything is told and asked again
 *   Refusal                           close ──▶ endApplication
 * }}}
 *
 * A frontend that says that the application can never be served (it was cancelled, or another
 * process has its id) is not asked again: the listener is told, and ends the application.
 *
 * @param incarnation of this process, for the cluster to tell it from another one with the same id
 */
final class ApplicationLink(
    application: TApplication,
    files: Seq[CarriedFile],
    frontends: Frontends,
    listener: ApplicationLink.Listener) {
  import ApplicationLink._

  private val log = LoggerFactory.getLogger(getClass)
  private val registration = new Registration(application, files, frontends)
  private val wantsCaller = new Caller(frontends, registration, Connection.AnswerMillis)
  private val newsCaller = new Caller(frontends, registration, Connection.AnswerMillis + NewsWaitMillis)

  private val wanted = new AtomicReference[Wanted](Wanted.Nothing)
  private val lock = new ReentrantLock
  private val changed = lock.newCondition()
  private var dirty = false // guarded by lock

  // Of the wants thread alone.
  private var sequence = 0L
  // Of the news thread alone.
  private var version = 0L
  private var heardIn = 0

  private val wants = new Loop("pigeon-wants", e => { mark(); judged(e) }, () => tellOnce())
  private val news = new Loop("pigeon-news", judged, () => hearOnce())
  private val disowned = new AtomicBoolean
  @volatile private var started = false
  @volatile private var over = false

  def cutoffNanos: Long = registration.cutoffNanos

  /** Registers, trying each frontend in turn, and starts both threads. Throws a Refusal. */
  def start(withinMillis: Long): Unit = {
    registerWithin(withinMillis)
    started = true
    wants.start()
    news.start()
  }

  /** The state to be told from now on. Never blocks on the network. */
  def tell(state: Wanted): Unit = {
    wanted.set(state)
    mark()
  }

  /** Ends the application. Blocks until the threads are gone, some seconds at most. Safe twice. */
  def close(): Unit = if (!over) {
    over = true
    if (started) {
      Seq(wants, news).foreach(_.stop())
      Seq(wantsCaller, newsCaller).foreach(_.close())
      Seq(wants, news).foreach(_.join(CloseMillis))
      end()
    }
  }

  private def judged(e: Throwable): Unit = e match {
    case p: TPigeonException if p.getProblem == Refusal.Invalid && disowned.compareAndSet(false, true) =>
      Seq(wants, news).foreach(_.last())
      listener.disowned(Refusal.of(p))
    case _ =>
  }

  private def end(): Unit = if (!disowned.get) {
    val caller = new Caller(frontends, registration, CloseMillis.toInt)
    try caller((client, _) => client.endApplication(application.getId, application.getIncarnation))
    catch {
      case e: TException =>
        log.warn(s"the cluster could not be told that ${application.getId} is over (${e.getMessage}); its lease ends it")
    } finally caller.close()
  }

  private def registerWithin(millis: Long): Unit = {
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis)
    val silent = mutable.Set[Address]()
    val caller = new Caller(frontends, registration, FirstAnswerMillis)
    var done = false
    try while (!done) {
      val at = frontends.current
      try {
        caller((_, _) => done = true)
      } catch {
        case e: TPigeonException if !Set(Refusal.Busy, Refusal.NotReady)(e.getProblem) => throw Refusal.of(e)
        case e: TException =>
          if (silent.add(at)) log.warn(s"Frontend $at of Pigeon does not answer (${e.getMessage})." +
            s" Registering application ${application.getId} is tried with all of ${frontends.all.mkString(", ")} in turn, for ${millis / 1000} s.")
          // One that hangs may have used up the time of the others.
          if (System.nanoTime() - deadline > 0 && frontends.all.forall(silent)) throw unreachable(e)
          Thread.sleep(RetryMillis)
      }
    } finally caller.close()
  }

  private def unreachable(e: TException): Refusal = e match {
    case p: TPigeonException => Refusal.of(p)
    case _ => new Refusal(
      "no frontend of Pigeon answers", s"application ${application.getId}",
      s"tried ${frontends.all.mkString(", ")}; the last said: ${e.getMessage}",
      "start the cluster ('pigeon dev', or 'pigeon frontend' on its host) or correct the master URL", e)
  }

  private def mark(): Unit = {
    lock.lock()
    try {
      dirty = true
      changed.signal()
    } finally lock.unlock()
  }

  // Waits for a change, a second at most: what is told again heals what got lost.
  private def tellOnce(): Unit = {
    lock.lockInterruptibly()
    try {
      if (!dirty) changed.await(RetellMillis, TimeUnit.MILLISECONDS)
      dirty = false
    } finally lock.unlock()
    wantsCaller { (client, _) =>
      sequence += 1
      registration.taken(client.want(wanted.get.told(application.getId, application.getIncarnation, sequence)), client)
    }
  }

  private def hearOnce(): Unit = newsCaller { (client, number) =>
    if (number != heardIn) {
      heardIn = number
      version = 0
    }
    val wait = math.min(NewsWaitMillis, math.max(1, registration.leaseMillis / 3))
    val heard = client.news(application.getId, application.getIncarnation, version, wait)
    version = heard.getVersion
    if (heard.getExecutors != null) heard.getExecutors.asScala.foreach(e => listener.executor(ExecutorState.of(e)))
    if (heard.getNotes != null) heard.getNotes.asScala.foreach(listener.note)
  }
}

object ApplicationLink {

  /** Called by the news thread; may block only briefly. */
  trait Listener {
    def executor(state: ExecutorState): Unit
    def note(text: String): Unit
    /** The cluster does not serve the application any more, for good. Once at most, by either thread. */
    def disowned(why: Refusal): Unit
  }

  val NewsWaitMillis = 5000
  val RetellMillis = 1000L
  val RetryMillis = 200L
  /** A frontend that takes the connection and says nothing is not waited for longer while there may be others. */
  val FirstAnswerMillis = 3000
  val CloseMillis = 3000L
}
