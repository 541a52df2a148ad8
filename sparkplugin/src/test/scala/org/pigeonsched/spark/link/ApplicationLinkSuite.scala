package org.pigeonsched.spark.link

import java.net.{InetAddress, ServerSocket}
import java.nio.file.Files
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.collection.JavaConverters._

import org.apache.thrift.TException
import org.scalatest.concurrent.{Eventually, Signaler, ThreadSignaler, TimeLimits}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application.TApplication

class ApplicationLinkSuite extends AnyFunSuite with Eventually with TimeLimits {

  private implicit val signaler: Signaler = ThreadSignaler

  private object Events extends ApplicationLink.Listener {
    val ends = new LinkedBlockingQueue[Refusal]()
    override def executor(state: ExecutorState): Unit = ()
    override def note(text: String): Unit = ()
    override def rejected(why: Refusal): Unit = ends.put(why)
  }

  private def link(frontends: Address*): ApplicationLink = linkWith(Nil, frontends: _*)

  private def linkWith(files: Seq[ShippedFile], frontends: Address*): ApplicationLink =
    new ApplicationLink(
      new TApplication("app", "", "", 1, true, ""),
      files,
      new Frontends(frontends),
      Events)

  // Fails unless the application states there what it wants.
  private def serves(frontend: FakeFrontend): Unit =
    eventually(timeout(60.seconds), interval(5.millis))(assert(frontend.calls.contains("want")))

  // A port on which no process listens: it was free a moment ago.
  private def noListener: Address = {
    val s = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))
    s.close()
    Address("127.0.0.1", s.getLocalPort)
  }

  test("the next frontend is tried, and receives the end") {
    val frontend = new FakeFrontend().start()
    try {
      val l = link(noListener, frontend.address)
      l.start(60000)
      l.close()
      l.close()
      val calls = frontend.calls.asScala.toSeq
      assert(calls.head == "register" && calls.last == "end" && calls.count(_ == "end") == 1)
    } finally frontend.close()
  }

  test("when no frontend answers, all that were tried are named") {
    val (a, b) = (noListener, noListener)
    val refusal = intercept[Refusal](link(a, b).start(1))
    assert(refusal.what == "no frontend of Pigeon answers" && refusal.tried.contains(s"$a, $b"))
  }

  test("the error of a call names the frontend") {
    val frontends = new Frontends(Seq(noListener))
    val application = new TApplication("app", "", "", 1, true, "")
    val caller = new Caller(frontends, new Registration(application, Nil, frontends), 60000)
    try {
      val e = intercept[TException](caller((_, _) => ()))
      assert(e.getMessage.startsWith(s"frontend ${frontends.current}: ") && e.getCause != null)
    } finally caller.close()
  }

  test("a standby is left for the frontend that leads, at the registration and later") {
    val (first, second, third) =
      (new FakeFrontend().start(), new FakeFrontend().start(), new FakeFrontend().start())
    try {
      first.standBy(second.address)
      val l = link(first.address)
      l.start(60000)
      assert(second.calls.contains("register"))
      second.standBy(third.address)
      serves(third)
      l.close()
      assert(third.calls.asScala.toSeq.last == "end" && Events.ends.isEmpty)
    } finally Seq(first, second, third).foreach(_.close())
  }

  private def withFrontends(number: Int)(f: Seq[FakeFrontend] => Unit): Unit = {
    val frontends = Seq.fill(number)(new FakeFrontend().start())
    try failAfter(60.seconds)(f(frontends))
    finally frontends.foreach(_.close())
  }

  test("a full frontend, and a standby that knows no leader, are left for the next one") {
    withFrontends(3) { case Seq(full, standby, third) =>
      full.beFull()
      standby.standByAlone()
      val l = link(full.address, standby.address, third.address)
      l.start(60000)
      assert(Seq(full, standby, third).forall(_.calls.contains("register")))
      full.allow()
      third.standByAlone()
      serves(full)
      l.close()
      assert(full.calls.asScala.toSeq.last == "end" && Events.ends.isEmpty)
    }
  }

  private val denial =
    new TPigeonException("its certificate has expired", "frontend", "", "renew it", 6, 0)

  test("a frontend that denies the driver is left for the next one, at first and later") {
    withFrontends(2) { case Seq(first, second) =>
      first.deny(denial)
      val l = link(first.address, second.address)
      l.start(60000)
      serves(second)
      first.allow()
      second.deny(denial)
      serves(first)
      l.close()
      assert(first.calls.asScala.toSeq.last == "end" && Events.ends.isEmpty)
    }
  }

  test("a driver that every frontend denies is told so at once") {
    withFrontends(2) { case Seq(first, second) =>
      Seq(first, second).foreach(_.deny(denial))
      val refusal = intercept[Refusal](link(first.address, second.address).start(Long.MaxValue))
      assert(refusal.what == "its certificate has expired")
      assert(Seq(first, second).map(_.calls.asScala.toSeq) == Seq.fill(2)(Seq("register")))
    }
  }

  test("when every frontend refuses for now, the time to register ends") {
    withFrontends(2) { case Seq(full, standby) =>
      full.beFull()
      standby.standByAlone()
      val refusal = intercept[Refusal](link(full.address, standby.address).start(1))
      assert(refusal.what == "it is a standby")
      assert(Seq(full, standby).forall(_.calls.contains("register")))
    }
  }

  test("standbys that name one another leave the others a turn") {
    withFrontends(3) { case Seq(a, b, full) =>
      a.standBy(b.address)
      b.standBy(a.address)
      full.beFull()
      intercept[Refusal](link(a.address, full.address).start(1))
      assert(Seq(a, b, full).forall(_.calls.contains("register")))
    }
  }

  test("a file that was replaced since the start of the driver is sent as it was then") {
    val path = Files.createTempFile("plugin", ".jar")
    val content = Array.tabulate[Byte](ShippedFile.ChunkBytes + 10)(_.toByte)
    try withFrontends(1) { case Seq(frontend) =>
        Files.write(path, content)
        val file = ShippedFile.of("plugin.jar", path.toFile)
        Files.write(path, content.reverse)
        frontend.missing = file.sha256
        val l = linkWith(Seq(file), frontend.address)
        l.start(60000)
        l.close()
        assert(frontend.received.toByteArray.sameElements(content))
      }
    finally Files.delete(path)
  }

  test("a file is sent over a link on which it takes longer than the wait for an answer") {
    val path = Files.createTempFile("plugin", ".jar")
    val content = Array.tabulate[Byte](600000)(_.toByte)
    try withFrontends(1) { case Seq(frontend) =>
        Files.write(path, content)
        val file = ShippedFile.of("plugin.jar", path.toFile)
        frontend.missing = file.sha256
        frontend.bytesASecond = 150000
        assert(file.size * 1000 / frontend.bytesASecond > ApplicationLink.FirstAnswerMillis)
        val l = linkWith(Seq(file), frontend.address)
        l.start(1)
        l.close()
        assert(frontend.received.toByteArray.sameElements(content))
      }
    finally Files.delete(path)
  }

  test("a rejected application is informed once, and makes no more calls") {
    val frontend = new FakeFrontend().start()
    try {
      val l = link(frontend.address)
      l.start(60000)
      frontend.refuse("it was stopped")
      val why = Events.ends.poll(60, TimeUnit.SECONDS)
      assert(why != null && why.what == "it was stopped")
      l.close()
      assert(Events.ends.isEmpty && !frontend.calls.contains("end"))
    } finally frontend.close()
  }

  test("a refusal at the registration is the reason") {
    val frontend = new FakeFrontend().start()
    try {
      frontend.refuse("another process with this id is alive")
      assert(intercept[Refusal](
        link(frontend.address).start(60000)).what == "another process with this id is alive")
    } finally frontend.close()
  }
}
