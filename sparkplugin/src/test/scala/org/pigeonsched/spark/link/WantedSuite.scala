package org.pigeonsched.spark.link

import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.grants.Kind
import org.pigeonsched.spark.grants.Levels.{Description, LevelState}

/** The daemons refuse a request beyond a limit, and with it the application. */
class WantedSuite extends AnyFunSuite {

  private val euro = 0x20ac.toChar.toString // 3 bytes

  private def level(name: String, text: String): LevelState =
    LevelState(Description(name, Kind(JobClass.Short), 0, Nil, text, text), 1, 0)

  test("no more is sent than the daemons accept") {
    val many = (1 to 10001).map(_.toString)
    val sent = Wanted(16384, many, many.map(level(_, euro * 1000))).toThrift("app", 1, 1)
    assert(sent.getExecutors == 10000 && sent.getStop.size == 10000 && sent.getLevels.size == 10000)
    val first = sent.getLevels.get(0)
    Seq(first.getTitle, first.getWhy).foreach(t => assert(t == euro * 341))
    assert(Wanted(Wanted.Everywhere, Nil, Nil).toThrift("app", 1, 1).getExecutors == -1)
  }

  test("a text is clipped at a whole character") {
    assert(Text.clipped("short", 256) == "short" && Text.clipped("", 256) == "")
    val dove = new String(Character.toChars(0x1f54a))
    Seq("x", 0xe9.toChar.toString, euro, dove, "a" + dove.charAt(0)).map(_ * 300).foreach { long =>
      (250 to 256).foreach { bytes =>
        val clipped = Text.clipped(long, bytes)
        val size = clipped.getBytes(UTF_8).length
        assert(long.startsWith(clipped) && size <= bytes && size > bytes - 4)
        assert(!clipped.endsWith(dove.take(1)) || !long.contains(dove))
      }
    }
  }
}
