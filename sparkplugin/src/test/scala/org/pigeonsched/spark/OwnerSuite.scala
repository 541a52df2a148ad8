package org.pigeonsched.spark

import org.scalatest.funsuite.AnyFunSuite

class OwnerSuite extends AnyFunSuite {

  // Sources are ASCII, also behind an escape.
  private def char(code: Int): String = code.toChar.toString

  private val setting = Owner.poolSetting("p")

  test("paths of up to eight levels are owners") {
    Seq(
      "alice",
      "team/alice",
      "a/b/c/d/e/f/g/h",
      s"Zo${char(0xeb)} van Dam/x-y.z@w",
      "x" * 255).foreach(path => assert(Owner.of(path, setting) == path))
  }

  Seq(
    "" -> "is empty",
    "/alice" -> "empty level",
    "alice/" -> "empty level",
    "a//b" -> "empty level",
    " alice" -> "space",
    "team/alice /x" -> "space",
    "team/ " -> "space",
    "a\tb" -> "control",
    s"a${char(0x85)}b" -> "control",
    "1/2/3/4/5/6/7/8/9" -> "9 levels",
    "x" * 256 -> "255 bytes",
    char(0xe9) * 128 -> "255 bytes",
    char(0xd800) -> "no valid text",
    "a/" * 1000 -> "255 bytes").foreach { case (path, why) =>
    test(s"a path of ${path.length} is refused that $why: ${path.hashCode}") {
      val refusal = intercept[Refusal](Owner.of(path, setting))
      assert(refusal.what.contains(why) && refusal.subject == "setting spark.pigeon.pool.p.owner")
      assert(refusal.getMessage.length < 600)
    }
  }

  test("a priority is a whole number of 32 bits") {
    assert(Seq("0", "-3", " 7 ", "2147483647").map(Priority.of) == Seq(0, -3, 7, Int.MaxValue))
    Seq("", "high", "1.5", "2147483648", "1e3").foreach { text =>
      assert(intercept[Refusal](Priority.of(text)).subject == "setting spark.pigeon.priority", text)
    }
  }
}
