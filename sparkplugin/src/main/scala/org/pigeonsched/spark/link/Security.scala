package org.pigeonsched.spark.link

import java.net.Socket

import org.apache.thrift.TApplicationException
import org.apache.thrift.protocol.TProtocol

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.identity.IdentityService

/**
 * How the driver verifies the frontends, and proves its identity: by TLS and an access token, each
 * if its setting names a file. Without both, frontends on the same machine learn the caller from
 * the kernel. Both files are read again for each connection, so a long application may get a new
 * token, and the cluster a new authority.
 */
final class Security private (tokenFile: Option[String], authority: Option[AuthorityFile]) {

  /** Returns what to read and write in place of a connected socket. */
  private[link] def secure(socket: Socket, address: Address): Socket = authority match {
    case Some(a) => a.now.secure(socket, address)
    case None if tokenFile.isDefined && !socket.getInetAddress.isLoopbackAddress =>
      throw new TPigeonException(
        "an access token is not sent in clear to another machine, where others could read it",
        s"frontend $address",
        s"using the setting ${AccessToken.Property}",
        s"name the certificate of the cluster's authority with ${Authority.Property}",
        Refusal.Denied,
        0)
    case None => socket
  }

  /** Makes the first call of a connection, which proves the caller. Throws as the frontend. */
  private[link] def authenticate(protocol: TProtocol): Unit = tokenFile.foreach { file =>
    try new IdentityService.Client(protocol).authenticate(AccessToken.read(file))
    catch {
      // A frontend of an earlier version requires no proof.
      case e: TApplicationException
          if e.getType == TApplicationException.UNKNOWN_METHOD && authority.isEmpty =>
    }
  }
}

object Security {

  val TokenFile: String = AccessToken.Property
  val AuthorityFile: String = Authority.Property

  /** Nothing is verified, and nothing proven beyond what the kernel knows. */
  val Open: Security = new Security(None, None)

  /** Throws a Refusal when a file cannot be used. */
  def of(tokenFile: Option[String], authorityFile: Option[String]): Security = {
    tokenFile.foreach(AccessToken.read)
    new Security(tokenFile, authorityFile.map(new AuthorityFile(_)))
  }
}
