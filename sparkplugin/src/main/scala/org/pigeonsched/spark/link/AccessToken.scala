package org.pigeonsched.spark.link

import java.io.IOException
import java.nio.charset.StandardCharsets
import java.nio.file.{Files, NoSuchFileException, Path, Paths}
import java.nio.file.attribute.PosixFilePermission

import scala.collection.JavaConverters._

import org.pigeonsched.spark.Refusal

/**
 * The access token by which the driver proves the user of its application: the first line of a
 * file that only its user can read. Its text is never part of an error or a log.
 */
private[link] object AccessToken {
  import PosixFilePermission._

  /** The setting that names the file. */
  val Property = "spark.pigeon.token.file"

  private val MaxBytes = 4096
  private val Form = "pigeon_[0-9a-f]{12}_[0-9a-f]{64}"
  private val OfOthers =
    Set(GROUP_READ, GROUP_WRITE, GROUP_EXECUTE, OTHERS_READ, OTHERS_WRITE, OTHERS_EXECUTE)

  /** Throws a Refusal with advice. */
  def read(file: String): String = {
    val path = Paths.get(file)
    try {
      if (permissions(path).exists(OfOthers)) refuse(
        file,
        "other users may read or change it",
        s"run: chmod 600 $file")
      if (Files.size(path) > MaxBytes) refuse(
        file,
        s"it has more than the limit of $MaxBytes bytes",
        "name another file")
      val text = new String(Files.readAllBytes(path), StandardCharsets.US_ASCII)
      val first = text.split("\n", 2)(0).trim
      if (!first.matches(Form)) refuse(
        file,
        "its first line is no access token",
        "write into it what 'pigeon token create' prints")
      first
    } catch {
      case _: NoSuchFileException => refuse(file, "there is no such file", "name another one")
      case e: IOException => refuse(file, s"it cannot be read: $e", "allow it to this user")
    }
  }

  private def permissions(path: Path): Set[PosixFilePermission] =
    try Files.getPosixFilePermissions(path).asScala.toSet
    catch { case _: UnsupportedOperationException => Set.empty }

  private def refuse(file: String, what: String, next: String): Nothing =
    throw new Refusal(what, s"setting $Property, file $file", "reading the access token", next)
}
