package org.apache.spark.scheduler.cluster.pigeon

import org.scalatest.funsuite.AnyFunSuite

class WantedStateSuite extends AnyFunSuite {

  test("the end of an executor that was to be stopped is told from that of another one") {
    val w = new WantedState(2)
    assert(w.stopExecutors(Seq("1")).stop == Seq("1"))
    assert(!w.executorGone("2"))
    assert(w.executorGone("1"))
    assert(w.current.stop.isEmpty && !w.executorGone("1"))
  }
}
