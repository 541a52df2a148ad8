package org.apache.spark.scheduler.cluster.pigeon

import org.scalatest.funsuite.AnyFunSuite

class StageKeySuite extends AnyFunSuite {

  test("under Spark Connect the request, with its ids, does not count") {
    def connect(id: String): String =
      StageKey.callSite(s"Spark Connect - session_id: $id", s"operation_id: $id")
    assert(connect("6c1d") == connect("ffe2"))
    assert(StageKey.callSite("count at a.py:7", "x") != StageKey.callSite("count at a.py:8", "x"))
    assert(StageKey.callSite("count at a.py:7", "x") != StageKey.callSite("count at a.py:7", "y"))
  }
}
