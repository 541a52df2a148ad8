package org.pigeonsched.spark.grants

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.grants.HeldGrants.Held

class HeldGrantsSuite extends AnyFunSuite {

  private def held(
      id: String,
      level: String = "l",
      jobClass: JobClass = JobClass.Short,
      at: Long = 0,
      owner: String = "") =
    Held(Grant(id, level, jobClass, 0), Kind(jobClass, owner), at, kept = false)

  private def kept(id: String, kind: Kind) =
    Held(Grant(id, "x", kind.jobClass, 100), kind, 0, kept = true)

  private val short = Kind(JobClass.Short)
  private val long = Kind(JobClass.Long)

  private def holding(all: Held*): HeldGrants = {
    val h = new HeldGrants
    all.foreach(g => assert(h.arrived("1", g)))
    h
  }

  test("a task is bound to a grant of its level, else the oldest of its kind") {
    val h = holding(held("a", "x"), held("b", "y"), held("c", "y", JobClass.Long))
    assert(h.take("1", short, "y").map(_.grant.id).contains("b"))
    assert(h.take("1", short, "y").map(_.grant.id).contains("a"))
    assert(h.take("1", short, "y").isEmpty)
    assert(h.take("2", long, "y").isEmpty)
    assert(h.count("1", long) == 1 && h.count(short) == 0 && h.size == 1)
  }

  test("a slot that is kept serves more urgent work too, a grant does not") {
    val h = holding(kept("k", long), held("l", "x", JobClass.Long), held("s", "y"))
    assert(h.count("1", short) == 2 && h.count("1", long) == 2 && h.count(long) == 2)
    assert(h.take("1", short, "").map(_.grant.id).contains("s"), "its own class first")
    assert(h.take("1", short, "").map(_.grant.id).contains("k"))
    assert(h.take("1", short, "").isEmpty && h.take("1", long, "").map(_.grant.id).contains("l"))
    assert(holding(kept("k", short)).take("1", long, "").isEmpty)
  }

  test("neither a grant nor a kept slot serves another owner") {
    val bob = Kind(JobClass.Short, "team/bob")
    val h = holding(held("a"), held("b", owner = "team/bob"), kept("k", long))
    assert(h.count("1", bob) == 1 && h.count(bob) == 1)
    assert(h.take("1", bob, "l").map(_.grant.id).contains("b"))
    assert(h.take("1", bob, "l").isEmpty, "the others are charged to the application's owner")
    assert(h.take("1", short, "l").map(_.grant.id).contains("a"))
    assert(h.take("1", short, "l").map(_.grant.id).contains("k"))
  }

  test("a slot that is kept serves higher priorities of its class, not lower ones") {
    val (low, high) = (short.copy(priority = -1), short.copy(priority = 7))
    assert(holding(kept("k", short)).take("1", high, "").nonEmpty)
    assert(holding(kept("k", short)).take("1", low, "").isEmpty)
    assert(holding(kept("k", long)).take("1", low, "").nonEmpty, "the class is more urgent")
    assert(holding(held("a")).take("1", high, "").isEmpty, "it was granted in another order")
    assert(Seq(long, low, high, short).sorted(Kind.mostUrgentFirst) == Seq(high, short, low, long))
    assert(
      Seq(Int.MinValue, Int.MaxValue).map(Kind(JobClass.Long, "", _))
        .sorted(Kind.mostUrgentFirst).map(_.priority) == Seq(Int.MaxValue, Int.MinValue))
  }

  test("a grant received twice counts once") {
    assert(!holding(held("a")).arrived("1", held("a")))
  }

  test("the grants of an executor that ends are removed") {
    val h = holding(held("a"), held("b"))
    assert(h.takeAll("1").map(_.grant.id) == Seq("a", "b") && h.takeAll("1").isEmpty && h.size == 0)
  }

  test("old grants are found by age, removed ones never") {
    val h = holding(held("a", at = 1), held("b", at = 5), held("c", at = 1))
    h.forget("1", "c")
    assert(h.takeOlder(5).map { case (e, g) => (e, g.grant.id) } == Seq(("1", "a")))
    assert(h.size == 1)
  }
}
