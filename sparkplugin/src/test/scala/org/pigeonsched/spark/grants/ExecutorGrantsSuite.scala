package org.pigeonsched.spark.grants

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.grants.ExecutorGrants._

class ExecutorGrantsSuite extends AnyFunSuite {

  private val ms = 1000000L
  private def grant(id: String, lease: Int = 0) = Grant(id, "0.0-short", JobClass.Short, lease)
  private def having(grants: Grant*): ExecutorGrants = {
    val e = new ExecutorGrants(100 * ms)
    assert(e.arrived(grants, 0) == grants)
    e
  }

  test("a grant received again is not a second one") {
    val e = having(grant("a"))
    assert(e.arrived(Seq(grant("a"), grant("b")), 1).map(_.id) == Seq("b"))
    assert(e.size == 2)
  }

  test("a task consumes its grant") {
    val e = having(grant("a"))
    assert(e.bind("a", 7, 1))
    assert(!e.bind("a", 8, 1), "a slot is for one task")
    e.started(7, 10)
    assert(e.finished(7, 25) == Over(End(grant("a"), Used, 1, 15, "")))
    assert(e.finished(7, 26) == Unknown && e.size == 0)
  }

  test("under a lease the slot is kept for the next task, until the lease is over") {
    val g = grant("a", lease = 10)
    val e = having(g)
    assert(e.bind("a", 1, 0))
    assert(e.finished(1, 5 * ms) == Kept(g))
    assert(e.bind("a", 2, 6 * ms))
    e.started(2, 6 * ms)
    assert(e.finished(2, 11 * ms) == Over(End(g, Used, 2, 5 * ms, "")))
  }

  test("a slot that other applications need is not kept") {
    val e = having(grant("a", lease = 1000))
    assert(e.bind("a", 1, 0))
    e.giveBack(Seq("a", "unknown"))
    assert(e.finished(1, 1).isInstanceOf[Over])
  }

  test("only a grant without a task is released, and once") {
    val e = having(grant("a"), grant("b"))
    assert(e.bind("a", 1, 0))
    assert(e.released(Seq("a", "b", "c")) == Seq(End(grant("b"), Unused, 0, 0, "")))
    assert(e.released(Seq("b")).isEmpty)
  }

  test("a grant that the driver leaves unanswered ends, a running one does not") {
    val e = having(grant("held"), grant("bound"), grant("running"))
    assert(e.bind("bound", 1, 0) && e.bind("running", 2, 0))
    e.started(2, 0)
    assert(e.overdue(100 * ms).isEmpty)
    val ends = e.overdue(101 * ms)
    assert(ends.map(_.grant.id) == Seq("held", "bound") && ends.forall(_.how == CouldNotUse))
    assert(ends.forall(_.reason.nonEmpty))
    assert(e.finished(1, 102 * ms) == Unknown, "its slot belongs to another application by now")
    assert(!e.bind("held", 3, 102 * ms))
    assert(e.size == 1)
  }
}
