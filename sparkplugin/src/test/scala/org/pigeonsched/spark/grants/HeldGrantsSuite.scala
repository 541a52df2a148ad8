package org.pigeonsched.spark.grants

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.JobClass
import org.pigeonsched.spark.grants.HeldGrants.Held

class HeldGrantsSuite extends AnyFunSuite {

  private def held(
      id: String,
      level: String = "l",
      jobClass: JobClass = JobClass.Short,
      at: Long = 0) =
    Held(Grant(id, level, jobClass, 0), at, kept = false)

  private def holding(all: Held*): HeldGrants = {
    val h = new HeldGrants
    all.foreach(g => assert(h.arrived("1", g)))
    h
  }

  test("a task is bound to a grant of its level, else the oldest of its class") {
    val h = holding(held("a", "x"), held("b", "y"), held("c", "y", JobClass.Long))
    assert(h.take("1", JobClass.Short, "y").map(_.grant.id).contains("b"))
    assert(h.take("1", JobClass.Short, "y").map(_.grant.id).contains("a"))
    assert(h.take("1", JobClass.Short, "y").isEmpty)
    assert(h.take("2", JobClass.Long, "y").isEmpty)
    assert(h.count("1", JobClass.Long) == 1 && h.count(JobClass.Short) == 0 && h.size == 1)
  }

  test("a slot that is kept serves more urgent work too, a grant does not") {
    val kept = Held(Grant("k", "x", JobClass.Long, 100), 0, kept = true)
    val h = holding(kept, held("l", "x", JobClass.Long), held("s", "y"))
    assert(h.count("1", JobClass.Short) == 2 && h.count(
      "1",
      JobClass.Long) == 2 && h.count(JobClass.Long) == 2)
    assert(h.take("1", JobClass.Short, "").map(_.grant.id).contains("s"), "its own class first")
    assert(h.take("1", JobClass.Short, "").map(_.grant.id).contains("k"))
    assert(h.take(
      "1",
      JobClass.Short,
      "").isEmpty && h.take("1", JobClass.Long, "").map(_.grant.id).contains("l"))
    assert(holding(Held(Grant("k", "x", JobClass.Short, 100), 0, kept = true)).take(
      "1",
      JobClass.Long,
      "").isEmpty)
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
