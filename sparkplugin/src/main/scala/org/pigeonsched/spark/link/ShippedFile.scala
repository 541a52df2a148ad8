package org.pigeonsched.spark.link

import java.io.File
import java.nio.ByteBuffer
import java.nio.file.Files
import java.security.MessageDigest

import org.pigeonsched.spark.Refusal
import org.pigeonsched.thrift.application.{ApplicationService, TFile}

/**
 * A file that is sent with the application, identified by its hash. The content is kept: a frontend
 * that takes the application over, perhaps days later, may lack the file, and an upgrade may have
 * replaced it on the disk by then.
 */
final class ShippedFile private (val name: String, content: Array[Byte], val sha256: String) {

  def size: Long = content.length.toLong

  def toThrift: TFile = new TFile(name, sha256, size)

  /** Sends what the frontend lacks of the file. Throws what the connection throws. */
  def send(application: String, client: ApplicationService.Client): Unit = {
    var sent = 0L
    while (sent < size) {
      val piece = math.min(ShippedFile.ChunkBytes.toLong, size - sent).toInt
      val after =
        client.putFile(application, sha256, sent, ByteBuffer.wrap(content, sent.toInt, piece))
      if (after <= sent) throw new Refusal(
        "a file of the application could not be sent",
        s"file $name",
        s"the frontend has $after of $size bytes and does not accept those from $sent on",
        "it is sent again from its first byte")
      sent = after
    }
  }
}

object ShippedFile {

  /**
   * The maximum that one call carries. It has to pass within the time for which the link waits for
   * an answer (3 s at first), also where the driver's host sends only some 22 kB a second.
   */
  val ChunkBytes: Int = 64 * 1024

  def of(name: String, path: File): ShippedFile = {
    val content = Files.readAllBytes(path.toPath)
    val digest = MessageDigest.getInstance("SHA-256").digest(content)
    new ShippedFile(name, content, digest.map(b => f"${b & 0xff}%02x").mkString)
  }
}
