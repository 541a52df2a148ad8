package org.pigeonsched.spark.link

import java.io.{ByteArrayInputStream, EOFException}
import java.net.{Socket, SocketException}
import java.nio.file.{Files, Paths}
import java.security.{GeneralSecurityException, KeyStore}
import java.security.cert.{CertificateFactory, X509Certificate}
import javax.naming.ldap.LdapName
import javax.net.ssl.{SSLContext, SSLException, SSLSocket, TrustManagerFactory}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.thrift.TPigeonException

/**
 * The certificates of the authorities of a cluster. A frontend is believed if one of them has
 * signed its certificate, and the certificate names it a frontend: by the URI
 * pigeon://CLUSTER/frontend/NAME or the subject O=CLUSTER, OU=frontend. The name of its host does
 * not matter, as between daemons.
 */
private[link] final class Authority(file: String) {
  import Authority._

  private val certificates: Seq[X509Certificate] = readCertificates(file)

  // The cluster of an authority that 'pigeon pki init' has made.
  private val cluster: Option[String] = certificates match {
    case Seq(one) =>
      part(one, "O").filter(o => part(one, "CN").contains(s"Pigeon authority of $o"))
    case _ => None
  }

  private val context: SSLContext = {
    val store = KeyStore.getInstance(KeyStore.getDefaultType)
    store.load(null, null)
    certificates.zipWithIndex.foreach { case (c, i) => store.setCertificateEntry(i.toString, c) }
    val trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    trust.init(store)
    val made = SSLContext.getInstance("TLS")
    made.init(null, trust.getTrustManagers, null)
    made
  }

  /**
   * Returns the connection by TLS 1.3 over a connected socket. Throws a TPigeonException when the
   * other side is not a frontend of the cluster, an IOException when there is no connection.
   */
  def secure(socket: Socket, address: Address): Socket = {
    val tls = context.getSocketFactory.createSocket(socket, address.host, address.port, true)
      .asInstanceOf[SSLSocket]
    tls.setEnabledProtocols(Array("TLSv1.3"))
    try tls.startHandshake()
    catch {
      case e: SSLException if !lost(e) =>
        throw refusal(
          address,
          s"TLS: ${e.getMessage}",
          s"check that $Property is the authority of this cluster, that the address is that" +
            " of a frontend with tls_cert, and the clocks of both machines")
    }
    tls.getSession.getPeerCertificates.headOption match {
      case Some(c: X509Certificate) => fault(c).foreach(why =>
          throw refusal(address, s"its certificate is refused: $why", "correct the master URL"))
      case _ => throw refusal(address, "it has shown no certificate", "correct the master URL")
    }
    tls
  }

  // Why a verified certificate is not that of a frontend of the cluster.
  private def fault(c: X509Certificate): Option[String] = named(c) match {
    case None => Some("it has neither a URI pigeon://CLUSTER/ROLE/NAME nor a subject O, OU, CN")
    case Some((_, role)) if role != "frontend" => Some(s"it is that of a $role, not a frontend")
    case Some((of, _)) if cluster.exists(_ != of) =>
      Some(s"it is of the cluster $of, and $Property is of ${cluster.mkString}")
    case _ => None
  }
}

private[link] object Authority {

  /** The setting that names the file. */
  val Property = "spark.pigeon.tls.ca"

  private val MaxBytes = 1 << 20
  private val Uri = "pigeon://([^/]+)/([^/]+)/([^/]+)".r
  private val UriName = 6 // as X509Certificate.getSubjectAlternativeNames numbers kinds

  private def named(c: X509Certificate): Option[(String, String)] = {
    val names = Option(c.getSubjectAlternativeNames).map(_.asScala.toSeq).getOrElse(Nil)
    val uris = names.filter(_.get(0) == UriName).map(_.get(1).toString)
      .filter(_.startsWith("pigeon://"))
    uris match {
      case Seq(Uri(cluster, role, _)) => Some((cluster, role))
      case Nil => for (o <- part(c, "O"); ou <- part(c, "OU"); _ <- part(c, "CN")) yield (o, ou)
      case _ => None
    }
  }

  // One part of the subject of a certificate.
  private def part(c: X509Certificate, kind: String): Option[String] =
    new LdapName(c.getSubjectX500Principal.getName).getRdns.asScala.toSeq
      .filter(_.getType.equalsIgnoreCase(kind)).map(_.getValue.toString) match {
        case Seq(one) => Some(one)
        case _ => None
      }

  // Whether the connection ended, which may be temporary, and no certificate was at fault.
  private def lost(e: Throwable): Boolean = e.getCause match {
    case _: EOFException | _: SocketException => true
    case _ => false
  }

  private def readCertificates(file: String): Seq[X509Certificate] = {
    val read =
      try {
        val path = Paths.get(file)
        if (Files.size(path) > MaxBytes) refuse(file, s"it has more than $MaxBytes bytes")
        CertificateFactory.getInstance("X.509")
          .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(path))).asScala
          .collect { case c: X509Certificate => c }.toSeq
      } catch {
        case e: GeneralSecurityException =>
          refuse(file, s"it holds no certificate: ${e.getMessage}")
        case e: Refusal => throw e
        case NonFatal(e) => refuse(file, s"it cannot be read: $e")
      }
    if (read.isEmpty) refuse(file, "it holds no certificate")
    read
  }

  private def refuse(file: String, what: String): Nothing = throw new Refusal(
    what,
    s"setting $Property, file $file",
    "reading the certificates of the cluster's authority",
    "name the ca.pem that 'pigeon pki init' wrote, or your own authority's (PEM)")

  private def refusal(address: Address, what: String, next: String): TPigeonException =
    new TPigeonException(what, s"frontend $address", "connecting by TLS", next, Refusal.Denied, 0)
}
