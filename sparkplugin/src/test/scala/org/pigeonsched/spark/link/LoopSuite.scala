package org.pigeonsched.spark.link

import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.funsuite.AnyFunSuite

class LoopSuite extends AnyFunSuite {

  test("a step that runs out of memory is followed by the next one") {
    val steps = new AtomicInteger
    val failures, done = new LinkedBlockingQueue[Any]()
    val loop = new Loop(
      "step",
      failures.put,
      () =>
        if (steps.incrementAndGet() == 1) new Array[Long](Int.MaxValue) // more than any JVM has
        else done.put("done"))
    loop.start()
    try {
      assert(done.poll(60, TimeUnit.SECONDS) == "done")
      assert(failures.poll().isInstanceOf[OutOfMemoryError])
    } finally {
      loop.stop()
      loop.join(60000)
    }
  }
}
