package org.pigeonsched.spark.grants

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.grants.Levels.{Description, LevelState}

class UpdateThrottleSuite extends AnyFunSuite {

  private val ms = 1000L * 1000

  private def level(name: String, total: Long, received: Long = 0): LevelState =
    LevelState(Description(name, Kind(JobClass.Short), 0, Nil, "stage", "why"), total, received)

  private def sent(levels: LevelState*): UpdateThrottle = {
    val t = new UpdateThrottle
    assert(t.shouldSend(levels, 0))
    t
  }

  test("higher demand, a new level, and the end of demand are sent at once") {
    assert(sent(level("a", 100)).shouldSend(Seq(level("a", 101)), 1))
    assert(sent(level("a", 100)).shouldSend(Seq(level("a", 100), level("b", 1)), 1))
    assert(sent(level("a", 100), level("b", 1)).shouldSend(Seq(level("a", 100)), 1))
    assert(sent(level("a", 100, 99)).shouldSend(Seq(level("a", 100, 100)), 1))
    assert(!sent(level("a", 100)).shouldSend(Seq(level("a", 100)), 10000 * ms))
  }

  test("slightly lower demand waits for a second, a quarter less for a moment") {
    val t = sent(level("a", 100))
    assert(!t.shouldSend(Seq(level("a", 99)), 60 * ms))
    assert(!t.shouldSend(Seq(level("a", 81)), 999 * ms))
    assert(t.shouldSend(Seq(level("a", 81)), 1001 * ms))
    assert(t.last == Seq(level("a", 81)))
    assert(!t.shouldSend(Seq(level("a", 60)), 1050 * ms))
    assert(t.shouldSend(Seq(level("a", 60)), 1052 * ms))
    assert(t.last == Seq(level("a", 60)))
  }

  test("much less of a small level is not hidden by a large one") {
    val t = sent(level("large", 1000), level("small", 10))
    assert(t.shouldSend(Seq(level("large", 1000), level("small", 3)), 51 * ms))
  }

  test("five hundred tasks in kept slots need some dozens of messages") {
    val t = sent(level("a", 500))
    val messages = (1 to 500).count(k => t.shouldSend(Seq(level("a", 500L - k)), k * 50 * ms))
    assert(messages > 10 && messages < 60, messages)
  }
}
