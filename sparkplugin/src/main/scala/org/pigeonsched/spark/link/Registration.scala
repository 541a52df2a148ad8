package org.pigeonsched.spark.link

import scala.collection.JavaConverters._

import org.apache.spark.internal.Logging

import org.pigeonsched.spark.Address
import org.pigeonsched.thrift.application.{ApplicationService, TApplication, TApplicationReply}

/**
 * The frontend with which the application is registered. Each registration, the first and those
 * after a failure, has its own number: a thread that sees a new number sends and polls
 * everything from the beginning. Safe for use by any thread.
 */
final class Registration(application: TApplication, files: Seq[ShippedFile], frontends: Frontends)
  extends Logging {
  import Registration._

  @volatile private var state = State(None, 0, DefaultLeaseMillis, 0L)

  /**
   * Registers with this frontend unless the application is registered with it already. Returns the
   * number of the registration.
   */
  def ensure(address: Address, client: ApplicationService.Client): Int = synchronized {
    if (!state.address.contains(address)) {
      val reply = client.registerApplication(application)
      handleReply(reply, client)
      val lease = if (reply.getLeaseMillis > 0) reply.getLeaseMillis else DefaultLeaseMillis
      state = State(Some(address), state.number + 1, lease, reply.getCutoffNanos)
      logInfo(s"application ${application.getId} is registered with frontend $address")
    }
    state.number
  }

  /** Handles what every reply of a frontend may contain: other frontends, files it lacks. */
  def handleReply(reply: TApplicationReply, client: ApplicationService.Client): Unit = {
    if (reply.getFrontends != null) frontends.add(reply.getFrontends.asScala.toList)
    val missing =
      if (reply.getMissing == null) Set.empty[String] else reply.getMissing.asScala.toSet
    files.filter(f => missing(f.sha256)).foreach { f =>
      logInfo(s"sending ${f.name} (${f.size} bytes) to the frontend")
      f.send(application.getId, client)
    }
  }

  /** The application is not registered with this frontend, or the frontend does not answer. */
  def lost(address: Address): Unit = synchronized {
    if (state.address.contains(address)) state = state.copy(address = None)
  }

  /** The cluster ends the application when it has been silent for this long. */
  def leaseMillis: Int = state.leaseMillis

  /** The boundary between short and long; 0 if the cluster did not send one. */
  def cutoffNanos: Long = state.cutoffNanos
}

object Registration {
  val DefaultLeaseMillis = 15000

  private final case class State(
      address: Option[Address],
      number: Int,
      leaseMillis: Int,
      cutoffNanos: Long)
}
