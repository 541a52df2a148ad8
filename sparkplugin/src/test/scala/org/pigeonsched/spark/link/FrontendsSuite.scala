package org.pigeonsched.spark.link

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.{Address, MasterUrl}

class FrontendsSuite extends AnyFunSuite {

  private val a = Address("a", 1)
  private val b = Address("b", 2)

  test("the next one is in use after a failure, and the first again after the last") {
    val f = new Frontends(Seq(a, b))
    f.failed(a)
    assert(f.current == b)
    f.failed(a)
    assert(f.current == b, "another thread moved on already")
    f.failed(b)
    assert(f.current == a)
  }

  test("the one that a standby names is in use, also if it was not known") {
    val f = new Frontends(Seq(a, b))
    f.moved(a, "c:3")
    assert(f.current == Address("c", 3) && f.all == Seq(a, b, Address("c", 3)))
    f.moved(a, "b:2")
    assert(f.current == Address("c", 3), "another thread moved on already")
    f.moved(Address("c", 3), "b:2")
    assert(f.current == b)
    f.moved(b, "no address")
    assert(f.current == b)
  }

  test("frontends named by a reply are tried too, within bounds") {
    val f = new Frontends(Seq(a))
    f.add(Seq("b:2", "a:1", "no address", "b:2"))
    assert(f.all == Seq(a, b))
    f.add((1 to 2 * MasterUrl.MaxFrontends).map(i => s"h$i:1"))
    assert(f.all.size == MasterUrl.MaxFrontends)
  }

  test("frontends that restart at new addresses do not fill the list with old ones") {
    val f = new Frontends(Seq(a, b))
    f.failed(a)
    val restarts = 3 * MasterUrl.MaxFrontends
    (1 to restarts).foreach(i => f.add(Seq(s"h$i:1")))
    assert(f.current == b && f.all.take(2) == Seq(a, b))
    assert(f.all.size == MasterUrl.MaxFrontends && f.all.last == Address(s"h$restarts", 1))
    f.moved(b, "leader:1")
    assert(f.current == Address("leader", 1), "the list is full")
    f.add((1 to MasterUrl.MaxFrontends).map(i => s"g$i:1"))
    assert(f.current == Address("leader", 1), "the one in use stays")
  }

  test("the one that a standby names is in use, also if the master URL names as many as it may") {
    (MasterUrl.MaxFrontends - 2 to MasterUrl.MaxFrontends).foreach { n =>
      val first = (1 to n).map(i => Address(s"h$i", 1))
      val f = new Frontends(first)
      (1 to 3).foreach { i =>
        f.moved(f.current, s"leader$i:1")
        assert(f.current == Address(s"leader$i", 1), s"with $n of the master URL")
      }
      assert(f.all.take(n) == first)
    }
  }
}
