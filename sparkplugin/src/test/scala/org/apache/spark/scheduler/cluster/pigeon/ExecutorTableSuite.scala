package org.apache.spark.scheduler.cluster.pigeon

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.link.ExecutorState

class ExecutorTableSuite extends AnyFunSuite {

  private def state(id: String, state: String): ExecutorState =
    ExecutorState(id, "node", "host", state, 0, "", last = false)

  test("the exit of an executor is new once, also if it is the first report") {
    val table = new ExecutorTable
    assert(table.update(state("1", "running")) && !table.update(state("1", "running")))
    assert(table.update(state("1", "exited")) && !table.update(state("1", "exited")))
    assert(table.update(state("2", "exited")) && !table.update(state("2", "exited")))
    assert(!table.update(state("1", "running")) && table.aliveIds.isEmpty, "a late report")
  }

  test("an executor is lost without an exit, also if nothing was reported of it") {
    val table = new ExecutorTable
    table.update(state("1", "running"))
    assert(table.lose("1") && table.lose("2"))
    assert(table.aliveIds.isEmpty)
    assert(!table.update(state("1", "running")) && table.aliveIds.isEmpty, "a repetition")
    assert(table.update(state("1", "exited")), "the exit is reported after all")
    assert(!table.lose("1"))
  }

  test("of executors that are gone a bounded number is remembered") {
    val table = new ExecutorTable
    val n = 2 * ExecutorTable.MostGone
    (1 to n).foreach { i =>
      table.update(state(s"$i", "running"))
      if (i % 2 == 0) table.update(state(s"$i", "exited")) else table.lose(s"$i")
    }
    assert(table.remembered == ExecutorTable.MostGone && table.aliveIds.isEmpty)
    assert(!table.update(state(s"$n", "exited")) && !table.update(state(s"$n", "running")))
  }

  test("the summary tells executors that the driver can use from those whose process only runs") {
    val table = new ExecutorTable
    Seq("1" -> "running", "2" -> "running", "3" -> "starting").foreach {
      case (id, s) => table.update(state(id, s))
    }
    assert(table.summary(_ => true) == "2 executors run, 1 start")
    assert(table.summary(_ == "1") ==
      "2 executors run (1 not yet connected to this driver), 1 start")
  }
}
