package org.pigeonsched.spark.classes

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.{JobClass, Refusal}
import org.pigeonsched.spark.classes.ClassChoice.Facts

class ClassChoiceSuite extends AnyFunSuite {

  private val second = 1000L * 1000 * 1000
  private val nothing = Facts(None, None, None, None, 0, None, second)

  // Each case also has all sources of lower precedence, with the opposite class.
  private val application =
    nothing.copy(application = Some("long"), estimateNanos = 1, history = Some((1, 1)))
  Seq(
    (
      "a local property",
      application.copy(property = Some("short"), poolClass = Some("long")),
      JobClass.Short,
      false),
    (
      "the pool",
      application.copy(pool = Some("p"), poolClass = Some("short")),
      JobClass.Short,
      false),
    ("the application", application, JobClass.Long, false),
    (
      "an estimate",
      nothing.copy(estimateNanos = second + 1, history = Some((1, 1))),
      JobClass.Long,
      false),
    ("an estimate of the cutoff", nothing.copy(estimateNanos = second), JobClass.Short, false),
    ("earlier runs", nothing.copy(history = Some((2 * second, 9))), JobClass.Long, true),
    ("nothing", nothing, JobClass.Short, true),
    (
      "an earlier run of only two tasks",
      nothing.copy(history = Some((2 * second, 2))),
      JobClass.Short,
      true)).foreach { case (name, facts, jobClass, derived) =>
    test(s"$name decides") {
      val choice = ClassChoice.choose(facts)
      assert(choice.jobClass == jobClass && choice.derived == derived && choice.why.nonEmpty)
    }
  }

  test("the refusal of a class names the setting") {
    val facts = nothing.copy(pool = Some("p"), poolClass = Some("Long"))
    assert(
      intercept[Refusal](ClassChoice.choose(facts)).subject == "setting spark.pigeon.pool.p.class")
  }

  test("one or two tasks indicate nothing about the others") {
    val p = new Progress
    p.started(1, 0)
    p.started(2, 0)
    assert(p.median(100 * second).isEmpty)
    assert(p.ended(1, 100 * second, telling = true).nonEmpty)
    assert(p.median(101 * second).isEmpty)
    p.started(3, 101 * second)
    assert(p.median(102 * second).isEmpty, "one that has just begun is no third")
    assert(p.ended(3, 103 * second, telling = true).nonEmpty)
    assert(p.median(103 * second).contains(100 * second))
  }

  test("long tasks are recognised before one has ended") {
    val p = new Progress
    (1L to 3L).foreach(p.started(_, 0))
    assert(p.median(5 * second).contains(5 * second))
    assert(p.ended(1, 6 * second, telling = true).contains(6 * second))
    assert(p.ended(2, 6 * second, telling = false).isEmpty)
    assert(p.ended(2, 7 * second, telling = true).isEmpty)
  }

  test("the warm-up of an executor does not count as work of its first tasks") {
    val (w, p) = (new WarmUp, new Progress)
    (1L to 4L).foreach(p.started(_, w.since("1", 0)))
    assert(p.median(WarmUp.Nanos).isEmpty)
    assert(p.ended(1, WarmUp.Nanos - 1, telling = true).isEmpty, "nor is it remembered")
    assert(p.median(WarmUp.Nanos + second).contains(second), "but what follows is")
    w.done("1")
    assert(w.isWarm("1") && w.since("1", 7) == 7 && w.since("2", 7) == 7 + WarmUp.Nanos)
    w.lost("1")
    assert(!w.isWarm("1") && w.since("1", 7) == 7 + WarmUp.Nanos)
  }

  test("on a busy machine the warm-up is as long as the start of the executor lets expect") {
    val w = new WarmUp
    Seq(1L -> WarmUp.Nanos, 8L -> 24 * second, 100L -> WarmUp.MostNanos).foreach {
      case (seconds, allowance) =>
        w.startedIn("1", seconds * second)
        assert(w.since("1", 7) == 7 + allowance)
    }
    w.lost("1")
    assert(w.since("1", 7) == 7 + WarmUp.Nanos)
  }

  test("the history evicts the least recently used stage") {
    val h = new History(maxKeys = 2)
    h.took("a", 1)
    h.took("b", 2)
    assert(h.estimate("a").contains((1L, 1)))
    h.took("c", 3)
    assert(h.estimate("b").isEmpty && h.estimate("a").nonEmpty && h.size == 2)
  }

  test("the median is of the last tasks") {
    val d = new Durations(3)
    assert(d.median.isEmpty)
    Seq(100L, 1L, 2L, 3L).foreach(d.add)
    assert(d.median.contains(2L) && d.size == 3)
  }
}
