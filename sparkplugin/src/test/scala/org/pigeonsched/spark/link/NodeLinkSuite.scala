package org.pigeonsched.spark.link

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.{Address, JobClass, Refusal}
import org.pigeonsched.spark.grants.{ExecutorGrants, Grant}

class NodeLinkSuite extends AnyFunSuite {

  private object Events extends NodeLink.Listener {
    override def granted(grants: Seq[Grant]): Unit = ()
    override def giveBack(ids: Seq[String]): Unit = ()
    override def rejected(why: Refusal): Unit = ()
  }

  test("a task that is interrupted as it ends frees its slot") {
    val link = new NodeLink(NodeLink.Identity(Address("127.0.0.1", 1), "app", "1", ""), 1, Events)
    val grant = Grant("g", "0.0-short", JobClass.Short, 0)
    Thread.currentThread.interrupt()
    try link.end(ExecutorGrants.End(grant, ExecutorGrants.Used, 1, 1, ""))
    finally assert(Thread.interrupted(), "the interruption is the task's")
  }
}
