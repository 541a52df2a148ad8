package org.pigeonsched.spark.link

import java.net.{InetAddress, ServerSocket}
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.collection.JavaConverters._

import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.thrift.application.TApplication

class ApplicationLinkSuite extends AnyFunSuite {

  private object Heard extends ApplicationLink.Listener {
    val ends = new LinkedBlockingQueue[Refusal]()
    override def executor(state: ExecutorState): Unit = ()
    override def note(text: String): Unit = ()
    override def disowned(why: Refusal): Unit = ends.put(why)
  }

  private def link(frontends: Address*): ApplicationLink =
    new ApplicationLink(new TApplication("app", "", "", 1, true, ""), Nil, new Frontends(frontends), Heard)

  // A port at which nobody listens: it was free a moment ago.
  private def nobody: Address = {
    val s = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))
    s.close()
    Address("127.0.0.1", s.getLocalPort)
  }

  test("the next frontend is tried, and told the end") {
    val frontend = new FakeFrontend().start()
    try {
      val l = link(nobody, frontend.address)
      l.start(60000)
      l.close()
      l.close()
      val asked = frontend.asked.asScala.toSeq
      assert(asked.head == "register" && asked.last == "end" && asked.count(_ == "end") == 1)
    } finally frontend.close()
  }

  test("when nobody answers, all that were tried are named") {
    val (a, b) = (nobody, nobody)
    val refusal = intercept[Refusal](link(a, b).start(1))
    assert(refusal.what == "no frontend of Pigeon answers" && refusal.tried.contains(s"$a, $b"))
  }

  test("an application that is served no more hears it once, and asks no more") {
    val frontend = new FakeFrontend().start()
    try {
      val l = link(frontend.address)
      l.start(60000)
      frontend.refuse("it was stopped")
      val why = Heard.ends.poll(60, TimeUnit.SECONDS)
      assert(why != null && why.what == "it was stopped")
      l.close()
      assert(Heard.ends.isEmpty && !frontend.asked.contains("end"))
    } finally frontend.close()
  }

  test("a refusal at the registration is the reason") {
    val frontend = new FakeFrontend().start()
    try {
      frontend.refuse("another process with this id is alive")
      assert(intercept[Refusal](link(frontend.address).start(60000)).what == "another process with this id is alive")
    } finally frontend.close()
  }
}
