package org.pigeonsched.spark.grants

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.grants.Levels.{Description, Told}

class TellingSuite extends AnyFunSuite {

  private val ms = 1000L * 1000

  private def level(name: String, total: Long, had: Long = 0): Told =
    Told(Description(name, JobClass.Short, 0, Nil, "stage", "why"), total, had)

  private def knows(levels: Told*): Telling = {
    val t = new Telling
    assert(t.due(levels, 0))
    t
  }

  test("more, another level, and nothing more are told at once") {
    assert(knows(level("a", 100)).due(Seq(level("a", 101)), 1))
    assert(knows(level("a", 100)).due(Seq(level("a", 100), level("b", 1)), 1))
    assert(knows(level("a", 100), level("b", 1)).due(Seq(level("a", 100)), 1))
    assert(knows(level("a", 100, 99)).due(Seq(level("a", 100, 100)), 1))
    assert(!knows(level("a", 100)).due(Seq(level("a", 100)), 10000 * ms))
  }

  test("a little less waits for a second, a quarter less for a moment") {
    val t = knows(level("a", 100))
    assert(!t.due(Seq(level("a", 99)), 60 * ms))
    assert(!t.due(Seq(level("a", 81)), 999 * ms))
    assert(t.due(Seq(level("a", 81)), 1001 * ms))
    assert(t.last == Seq(level("a", 81)))
    assert(!t.due(Seq(level("a", 60)), 1050 * ms))
    assert(t.due(Seq(level("a", 60)), 1052 * ms))
    assert(t.last == Seq(level("a", 60)))
  }

  test("much less of a small level is not hidden by a large one") {
    val t = knows(level("large", 1000), level("small", 10))
    assert(t.due(Seq(level("large", 1000), level("small", 3)), 51 * ms))
  }

  test("five hundred tasks in kept slots are told in some dozens of messages") {
    val t = knows(level("a", 500))
    val messages = (1 to 500).count(k => t.due(Seq(level("a", 500L - k)), k * 50 * ms))
    assert(messages > 10 && messages < 60, messages)
  }
}
