package org.pigeonsched.spark

/** The address of a daemon. */
final case class Address(host: String, port: Int) {
  override def toString: String = if (host.contains(":")) s"[$host]:$port" else s"$host:$port"
}

object Address {

  private val Pattern = """(\[[0-9A-Fa-f:.%]+\]|[^\[\]:/\s]+):([0-9]{1,5})""".r

  /** None if text is not host:port with a port from 1 to 65535. */
  def parse(text: String): Option[Address] = text match {
    case Pattern(host, port) if port.toInt >= 1 && port.toInt <= 65535 =>
      Some(Address(host.stripPrefix("[").stripSuffix("]"), port.toInt))
    case _ => None
  }
}

/** The frontends that a master URL names: pigeon://host:port[,host:port...], in its order. */
object MasterUrl {

  private val Schemes = Seq("spark-pigeon://", "pigeon://")

  /** A bound on how many frontends a URL can make the driver try. */
  val MaxFrontends = 64

  /** Throws a Refusal that explains what is wrong with the URL. */
  def parse(url: String): Seq[Address] = {
    val rest = Schemes.find(url.startsWith).map(s => url.drop(s.length)).getOrElse(
      refuse(url, "it begins with neither pigeon:// nor spark-pigeon://"))
    val parts = rest.stripSuffix("/").split(",", -1).toSeq.map(_.trim)
    if (parts.size > MaxFrontends) refuse(url, s"it names more than $MaxFrontends frontends")
    parts.map(p => Address.parse(p).getOrElse(refuse(url, s"'$p' is not host:port"))).distinct
  }

  private def refuse(url: String, why: String): Nothing =
    throw new Refusal(
      s"the master URL is not one of Pigeon: $why",
      s"master '$url'",
      "nothing was started",
      "write pigeon://host:port[,host:port...] with the addresses of frontends (for spark-submit" +
        " spark-pigeon://...); 'pigeon nodes' shows a running cluster, 'pigeon dev' starts one")
}
