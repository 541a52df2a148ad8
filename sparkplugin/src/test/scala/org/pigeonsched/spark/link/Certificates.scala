package org.pigeonsched.spark.link

import java.io.FileInputStream
import java.nio.file.{Files, Path, Paths}
import java.security.KeyStore
import javax.net.ssl.{KeyManagerFactory, SSLContext}

/** Self-signed certificates, made by the JDK's keytool in a folder. */
private[spark] final class Certificates(folder: Path) {
  import Certificates._

  /**
   * The context of a server with a certificate of this subject and URI, and the PEM file of that
   * certificate.
   */
  def make(name: String, subject: String, uri: Option[String]): (SSLContext, String) = {
    val store = folder.resolve(s"$name.p12").toString
    val pem = folder.resolve(s"$name.pem").toString
    val extension = uri.toSeq.flatMap(u => Seq("-ext", s"san=uri:$u"))
    val common = Seq("-keystore", store, "-storepass", Password, "-alias", name)
    keytool(Seq("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-dname", subject) ++
      Seq("-validity", "2", "-storetype", "PKCS12") ++ extension ++ common: _*)
    keytool(Seq("-exportcert", "-rfc", "-file", pem) ++ common: _*)
    val keys = KeyStore.getInstance("PKCS12")
    val in = new FileInputStream(store)
    try keys.load(in, Password.toCharArray)
    finally in.close()
    val managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    managers.init(keys, Password.toCharArray)
    val context = SSLContext.getInstance("TLS")
    context.init(managers.getKeyManagers, null, null)
    (context, pem)
  }

  private def keytool(arguments: String*): Unit = {
    val program = Paths.get(System.getProperty("java.home"), "bin", "keytool").toString
    val output = folder.resolve("keytool.out")
    val process = new ProcessBuilder((program +: arguments): _*)
      .redirectErrorStream(true).redirectOutput(output.toFile).start()
    if (process.waitFor() != 0) {
      throw new IllegalStateException(new String(Files.readAllBytes(output)))
    }
  }
}

private object Certificates {
  private val Password = "changeit"
}
