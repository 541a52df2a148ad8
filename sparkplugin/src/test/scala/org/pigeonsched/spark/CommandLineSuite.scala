package org.pigeonsched.spark

import org.scalatest.funsuite.AnyFunSuite

class CommandLineSuite extends AnyFunSuite {

  Seq(
    "" -> Nil,
    "  -a  -b\t-c " -> Seq("-a", "-b", "-c"),
    """-Dx="a b" -y""" -> Seq("-Dx=a b", "-y"),
    """'a "b"' c""" -> Seq("""a "b"""", "c"),
    """a\ b "c\"d" 'e\f'""" -> Seq("a b", "c\"d", "e\\f"),
    """"" x""" -> Seq("", "x"),
    """"open to the end""" -> Seq("open to the end")).foreach { case (text, words) =>
    test(s"[$text] is ${words.size} words")(assert(CommandLine.split(text) == words))
  }
}
