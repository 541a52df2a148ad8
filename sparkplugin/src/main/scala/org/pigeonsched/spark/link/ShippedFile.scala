package org.pigeonsched.spark.link

import java.io.{File, FileInputStream, RandomAccessFile}
import java.nio.ByteBuffer
import java.security.MessageDigest

import org.pigeonsched.spark.Refusal
import org.pigeonsched.thrift.application.{ApplicationService, TFile}

/** A file that is sent with the application, identified by its hash. */
final case class ShippedFile(name: String, path: File, sha256: String, size: Long) {

  def toThrift: TFile = new TFile(name, sha256, size)

  /** Sends what the frontend lacks of the file. Throws what the connection throws. */
  def send(application: String, client: ApplicationService.Client): Unit = {
    val in = new RandomAccessFile(path, "r")
    try {
      val chunk = new Array[Byte](ShippedFile.ChunkBytes)
      var sent = 0L
      while (sent < size) {
        in.seek(sent)
        val read = in.read(chunk)
        val after =
          if (read <= 0) sent
          else client.putFile(application, sha256, sent, ByteBuffer.wrap(chunk, 0, read))
        if (after <= sent) throw new Refusal(
          "a file of the application could not be sent",
          s"file $path",
          s"the frontend has $sent of $size bytes and accepts no more",
          "do not change the file while the driver runs")
        sent = after
      }
    } finally in.close()
  }
}

object ShippedFile {

  /** The maximum that one call carries. */
  val ChunkBytes: Int = 1024 * 1024

  def of(name: String, path: File): ShippedFile = {
    val digest = MessageDigest.getInstance("SHA-256")
    val in = new FileInputStream(path)
    var size = 0L
    try {
      val chunk = new Array[Byte](ChunkBytes)
      var read = in.read(chunk)
      while (read >= 0) {
        digest.update(chunk, 0, read)
        size += read
        read = in.read(chunk)
      }
    } finally in.close()
    ShippedFile(name, path, digest.digest().map(b => f"${b & 0xff}%02x").mkString, size)
  }
}
