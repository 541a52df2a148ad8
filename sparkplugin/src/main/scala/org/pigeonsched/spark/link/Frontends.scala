package org.pigeonsched.spark.link

import org.pigeonsched.spark.{Address, MasterUrl}

/**
 * The frontends of the cluster and the one in use. The application uses one at a time; when it
 * fails, the next one takes over the application. Safe for use by any thread.
 */
final class Frontends(first: Seq[Address]) {

  // Beside the first ones there is room for the one in use and for one that it names.
  private val most = math.max(MasterUrl.MaxFrontends, first.size + 2)

  private var known = first.toVector
  private var at = 0

  def current: Address = synchronized(known(at))

  def all: Seq[Address] = synchronized(known)

  /** This frontend failed: the next one is used, unless another thread has moved on already. */
  def failed(address: Address): Unit = synchronized {
    if (known(at) == address) at = (at + 1) % known.size
  }

  /**
   * This frontend is a standby and names the one that leads, which is used from now on, unless
   * another thread has moved on already.
   */
  def moved(from: Address, to: String): Unit = synchronized {
    if (known(at) == from) {
      add(Seq(to))
      Address.parse(to).map(known.indexOf).filter(_ >= 0).foreach(at = _)
    }
  }

  /** Uses the first one that was not tried; none: the one in use stays. */
  def useUntried(tried: Address => Boolean): Unit = synchronized {
    val next = known.indexWhere(a => !tried(a))
    if (next >= 0) at = next
  }

  /**
   * Adds the frontends that a reply names; a text that is not an address is ignored. Where there is
   * no room for them, those leave that were added first: frontends that restart at new addresses
   * would otherwise fill the list with old ones. The first ones and the one in use stay.
   */
  def add(addresses: Seq[String]): Unit = synchronized {
    val named = addresses.flatMap(a => Address.parse(a)).distinct
    val fresh = named.filterNot(known.contains)
    val using = current
    val excess = known.size + fresh.size - most
    val leaving = known.filterNot(a => first.contains(a) || a == using || named.contains(a))
      .take(math.max(0, excess)).toSet
    known = known.filterNot(leaving)
    known = known ++ fresh.take(math.max(0, most - known.size))
    at = known.indexOf(using)
  }
}
