package org.pigeonsched.spark.grants

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.grants.Levels.Description

class LevelsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val names = Seq("a", "b", "c")

  private val short = Kind(JobClass.Short)

  private def description(name: String, kind: Kind = short) =
    Description(name, kind, 0, Nil, name, "")

  private def levels(wanted: String*): Levels = {
    val l = new Levels
    wanted.foreach(n => l.put(description(n)))
    l
  }

  private def update(l: Levels, pending: Map[String, Int], held: Int = 0, now: Long = 0): Unit =
    l.updateTotals(pending.getOrElse(_, 0), k => if (k == short) held else 0, now)

  private def totals(l: Levels): Map[String, (Long, Long)] =
    l.states.map(t => t.description.name -> ((t.total, t.received))).toMap

  test("a total counts all grants since the level began") {
    val l = levels("a")
    update(l, Map("a" -> 3))
    l.arrived("a")
    update(l, Map("a" -> 3), held = 1)
    assert(totals(l)("a") == ((3L, 1L)), "the held grant is for one of the three")
    update(l, Map("a" -> 3))
    assert(totals(l)("a") == ((4L, 1L)), "it was handed back: another one is wanted")
  }

  test("lower demand reduces the newest level that needs its grants least") {
    val l = levels("a", "b")
    update(l, Map("a" -> 4, "b" -> 4))
    update(l, Map("a" -> 4, "b" -> 1))
    assert(totals(l) == Map("a" -> ((4L, 0L)), "b" -> ((1L, 0L))))
  }

  test("a held grant covers the demand of its owner and priority alone") {
    val l = new Levels
    val kinds =
      Map("a" -> short, "b" -> Kind(JobClass.Short, "bob"), "c" -> Kind(JobClass.Short, "bob", 5))
    kinds.toSeq.sortBy(_._1).foreach { case (name, kind) => l.put(description(name, kind)) }
    l.updateTotals(_ => 3, k => if (k.owner == "bob" && k.priority == 0) 2 else 0, 0)
    assert(totals(l).map(t => t._1 -> t._2._1) == Map("a" -> 3L, "b" -> 1L, "c" -> 3L))
  }

  test("a removed level is no longer sent") {
    val l = levels("a", "b")
    l.remove("a")
    l.arrived("a")
    assert(totals(l).keySet == Set("b"))
  }

  test("declines are bounded by uses and pauses") {
    // Each millisecond a grant comes if one is wanted, and every n-th of them is used.
    forAll(Gen.choose(1, 50), Gen.choose(1000, 5000)) { (useful, millis) =>
      val b = new Backoff
      var used, declined = 0
      (0 until millis).foreach { ms =>
        val now = ms * 1000000L
        if (!b.paused(now)) {
          if ((used + declined) % useful == 0) {
            used += 1
            b.used()
          } else {
            declined += 1
            b.declined(now)
          }
        }
      }
      assert(declined <= used + Backoff.MaxCredit + millis * 1000000L / Backoff.FirstPauseNanos + 1)
      if (useful > 2 * Backoff.MaxCredit) {
        assert(declined < millis / 4, "an unused grant in four is a storm")
      }
    }
  }

  test("after many declines a level pauses, until a grant is used") {
    val l = levels("a")
    (0 to Backoff.MaxCredit).foreach(_ => l.declined("a", 0))
    update(l, Map("a" -> 2), now = 1)
    assert(totals(l)("a")._1 == 0)
    update(l, Map("a" -> 2), now = Backoff.FirstPauseNanos)
    assert(totals(l)("a")._1 == 2)
    (0 to Backoff.MaxCredit).foreach(_ => l.declined("a", Backoff.FirstPauseNanos))
    l.used("a")
    update(l, Map("a" -> 5), now = Backoff.FirstPauseNanos)
    assert(totals(l)("a")._1 == 5)
  }

  test("a level waits for no more grants than the daemons allow, and wants the rest in batches") {
    val l = levels("a")
    val tasks = 5 * Levels.MaxOutstanding / 2
    var raises = 0
    var total = 0L
    (0 until tasks).foreach { done =>
      update(l, Map("a" -> (tasks - done)))
      val t = l.states.head
      assert(t.outstanding <= Levels.MaxOutstanding && t.outstanding > 0)
      if (t.total > total) raises += 1
      total = t.total
      l.arrived("a")
      l.used("a")
    }
    update(l, Map("a" -> 0))
    assert(totals(l)("a") == ((tasks.toLong, tasks.toLong)))
    assert(raises <= 5, "each raise is a job of the cluster")
    val many = levels("a")
    update(many, Map("a" -> tasks))
    many.arrived("a")
    update(many, Map("a" -> tasks), held = 1)
    assert(totals(many)("a")._1 == Levels.MaxOutstanding, "a held grant costs no other its place")
  }

  // The equation of the class comment holds after any sequence of events.
  test("the outstanding grants are the pending tasks less the held grants") {
    val step = Gen.zip(
      Gen.listOfN(names.size, Gen.choose(0, 20)),
      Gen.choose(0, 20),
      Gen.option(Gen.oneOf(names)))
    forAll(Gen.listOf(step)) { steps =>
      val l = levels(names: _*)
      steps.foreach { case (pending, held, arrival) =>
        arrival.foreach(l.arrived)
        update(l, names.zip(pending).toMap, held)
        assert(l.states.map(_.outstanding).sum == math.max(0, pending.sum - held))
        assert(l.states.forall(t => 0 <= t.received && t.received <= t.total))
      }
    }
  }
}
