package org.pigeonsched.spark

import java.nio.charset.StandardCharsets.UTF_8

/** The owner of work: a path such as "team/alice". The rules are those of the daemons. */
object Owner {

  val Property = "spark.pigeon.owner"
  val MaxLevels = 8
  val MaxBytes = 255

  def poolSetting(pool: String): String = s"spark.pigeon.pool.$pool.owner"

  /** Returns the path. Throws a Refusal that names the setting when it cannot be an owner. */
  def of(path: String, setting: String): String = fault(path) match {
    case None => path
    case Some(why) => throw new Refusal(
        s"'${path.take(100)}' is no owner: it $why",
        s"setting $setting",
        s"an owner is a path of at most $MaxLevels levels and $MaxBytes bytes, without control" +
          " characters and without spaces around a level",
        s"write it as team/alice, or leave it out and the application's user is the owner")
  }

  private def fault(path: String): Option[String] = {
    val levels = path.split("/", -1)
    if (path.isEmpty) Some("is empty")
    else if (!UTF_8.newEncoder().canEncode(path)) Some("is no valid text")
    else if (path.getBytes(UTF_8).length > MaxBytes) Some(s"has more than $MaxBytes bytes")
    else if (path.exists(Character.isISOControl)) Some("has a control character")
    else if (levels.length > MaxLevels) Some(s"has ${levels.length} levels")
    else if (levels.exists(_.isEmpty)) Some("has an empty level")
    else levels.find(l => spaceAtEnd(l)).map(l => s"has a space at an end of the level '$l'")
  }

  private def spaceAtEnd(level: String): Boolean =
    Seq(level.codePointAt(0), level.codePointBefore(level.length)).exists(c =>
      Character.isSpaceChar(c) || Character.isWhitespace(c))
}
