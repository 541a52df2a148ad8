package org.pigeonsched.suites

import org.scalatest.Suite
import org.scalatest.tools.Runner

/**
 * Runs one suite of the class path: all of its tests except the excluded ones.
 *
 * {{{
 * RunSuite RESULTS RUNPATH SUITE [only|except TEST ...]
 * }}}
 *
 * RESULTS is a file to which each event is appended as a line of JSON while it happens (TestLines),
 * so that the results of a suite that had to be killed show how far it came. A test that is named
 * and does not exist is an error: a list of exceptions must not outlive its tests. Exits with 0 if
 * all tests passed, 1 if one failed, 2 if none could be run.
 */
object RunSuite {

  def main(args: Array[String]): Unit = {
    val Array(results, runpath, suite) = args.take(3)
    val named = args.drop(4).toSet
    System.setProperty(TestLines.File, results)
    val all =
      Class.forName(suite).getDeclaredConstructor().newInstance().asInstanceOf[Suite].testNames
    val unknown = named.diff(all)
    if (unknown.nonEmpty || all.isEmpty) {
      val none = if (all.isEmpty) "at all" else unknown.mkString("'", "', '", "'")
      System.err.println(s"$suite has no test $none; correct sparkplugin/suites/suites.toml")
      sys.exit(2)
    }
    val chosen = args.drop(3).headOption match {
      case None => all
      case Some("only") => all.intersect(named)
      case Some("except") => all.diff(named)
    }
    TestLines.planned(chosen)
    if (chosen.isEmpty) sys.exit(0) // to ScalaTest no name means every test
    val tests = chosen.toSeq.flatMap(Seq("-t", _))
    val passed = Runner.run((Seq(
      "-R",
      runpath,
      "-oDW",
      "-C",
      classOf[TestLines].getName,
      "-s",
      suite) ++ tests).toArray)
    sys.exit(if (passed) 0 else 1)
  }
}
