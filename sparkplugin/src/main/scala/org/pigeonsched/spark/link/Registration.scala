package org.pigeonsched.spark.link

import scala.collection.JavaConverters._

import org.slf4j.LoggerFactory

import org.pigeonsched.spark.Address
import org.pigeonsched.thrift.application.{ApplicationService, TApplication, TApplicationReply}

/**
 * Which frontend knows the application. Each registration, the first and those after a failure, has
 * a number of its own: who sees a new one tells and asks everything from the beginning. Safe for
 * any thread.
 */
final class Registration(application: TApplication, files: Seq[CarriedFile], frontends: Frontends) {
  import Registration._

  private val log = LoggerFactory.getLogger(getClass)

  @volatile private var state = State(None, 0, DefaultLeaseMillis, 0L)

  /** Registers with this frontend if it is not the one that knows the application. Answers with the number. */
  def ensure(address: Address, client: ApplicationService.Client): Int = synchronized {
    if (!state.address.contains(address)) {
      val reply = client.registerApplication(application)
      taken(reply, client)
      val lease = if (reply.getLeaseMillis > 0) reply.getLeaseMillis else DefaultLeaseMillis
      state = State(Some(address), state.number + 1, lease, reply.getCutoffNanos)
      log.info(s"application ${application.getId} is registered with frontend $address")
    }
    state.number
  }

  /** What every reply of a frontend may bring: other frontends, files it lacks. */
  def taken(reply: TApplicationReply, client: ApplicationService.Client): Unit = {
    if (reply.getFrontends != null) frontends.learn(reply.getFrontends.asScala.toList)
    val missing = if (reply.getMissing == null) Set.empty[String] else reply.getMissing.asScala.toSet
    files.filter(f => missing(f.sha256)).foreach { f =>
      log.info(s"sending ${f.name} (${f.size} bytes) to the frontend")
      f.send(application.getId, client)
    }
  }

  /** This frontend no longer knows the application, or does not answer. */
  def lost(address: Address): Unit = synchronized {
    if (state.address.contains(address)) state = state.copy(address = None)
  }

  def number: Int = state.number

  /** After so long a silence the cluster ends the application. */
  def leaseMillis: Int = state.leaseMillis

  /** Between short and long; 0 if the cluster did not say. */
  def cutoffNanos: Long = state.cutoffNanos
}

object Registration {
  val DefaultLeaseMillis = 15000

  private final case class State(address: Option[Address], number: Int, leaseMillis: Int, cutoffNanos: Long)
}
