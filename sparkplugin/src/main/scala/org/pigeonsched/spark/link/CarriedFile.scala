package org.pigeonsched.spark.link

import java.io.{File, FileInputStream, RandomAccessFile}
import java.nio.ByteBuffer
import java.security.MessageDigest

import org.pigeonsched.spark.Refusal
import org.pigeonsched.thrift.application.{ApplicationService, TFile}

/** A file that travels with the application, known by its hash. */
final case class CarriedFile(name: String, path: File, sha256: String, size: Long) {

  def told: TFile = new TFile(name, sha256, size)

  /** Sends what the frontend does not have. Throws what the connection throws. */
  def send(application: String, client: ApplicationService.Client): Unit = {
    val in = new RandomAccessFile(path, "r")
    try {
      val piece = new Array[Byte](CarriedFile.PieceBytes)
      var here = 0L
      while (here < size) {
        in.seek(here)
        val read = in.read(piece)
        val after =
          if (read <= 0) here else client.putFile(application, sha256, here, ByteBuffer.wrap(piece, 0, read))
        if (after <= here) throw new Refusal(
          "a file of the application could not be sent", s"file $path",
          s"the frontend has $here of $size bytes and takes no more", "do not change the file while the driver runs")
        here = after
      }
    } finally in.close()
  }
}

object CarriedFile {

  /** The most that one call carries. */
  val PieceBytes: Int = 1024 * 1024

  def of(name: String, path: File): CarriedFile = {
    val digest = MessageDigest.getInstance("SHA-256")
    val in = new FileInputStream(path)
    var size = 0L
    try {
      val piece = new Array[Byte](PieceBytes)
      var read = in.read(piece)
      while (read >= 0) {
        digest.update(piece, 0, read)
        size += read
        read = in.read(piece)
      }
    } finally in.close()
    CarriedFile(name, path, digest.digest().map(b => f"${b & 0xff}%02x").mkString, size)
  }
}
