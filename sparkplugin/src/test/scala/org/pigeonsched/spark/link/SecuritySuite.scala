package org.pigeonsched.spark.link

import java.net.{InetAddress, Socket}
import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.TimeUnit

import scala.collection.JavaConverters._

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import org.pigeonsched.spark.{Address, Refusal}
import org.pigeonsched.thrift.TPigeonException
import org.pigeonsched.thrift.application.TApplication

class SecuritySuite extends AnyFunSuite with BeforeAndAfterAll {

  private val folder = Files.createTempDirectory("pigeon-security")
  private val certificates = new Certificates(folder)
  private lazy val (ours, authority) =
    certificates.make("f0", "O=prod, OU=frontend, CN=f0", Some("pigeon://prod/frontend/f0"))
  private val token = "pigeon_" + "0" * 12 + "_" + "a" * 64
  private val other = "pigeon_" + "1" * 12 + "_" + "b" * 64

  override def afterAll(): Unit = {
    Option(folder.toFile.listFiles).toSeq.flatten.foreach(_.delete())
    Files.delete(folder)
  }

  private object Events extends ApplicationLink.Listener {
    override def executor(state: ExecutorState): Unit = ()
    override def note(text: String): Unit = ()
    override def rejected(why: Refusal): Unit = ()
  }

  private def link(security: Security, frontends: Address*): ApplicationLink =
    new ApplicationLink(
      new TApplication("app", "", "", 1, true, ""),
      Nil,
      new Frontends(frontends),
      Events,
      security)

  private def file(name: String, text: String, mode: String = "rw-------"): String = {
    val path: Path = folder.resolve(name)
    Files.write(path, text.getBytes("US-ASCII"))
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(mode)).toString
  }

  private def await(what: String)(holds: => Boolean): Unit = {
    val until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60)
    while (!holds && System.nanoTime() - until < 0) Thread.sleep(5)
    assert(holds, what)
  }

  private def refused(frontend: FakeFrontend, security: Security): Refusal =
    try intercept[Refusal](link(security, frontend.address).start(60000))
    finally frontend.close()

  test("a frontend of the authority is called by TLS, after the token") {
    val frontend = new FakeFrontend(Some(ours)).start()
    try {
      frontend.token = token
      val l = link(Security.of(Some(file("t", token + "\n")), Some(authority)), frontend.address)
      l.start(60000)
      l.close()
      val calls = frontend.calls.asScala.toSeq
      assert(calls.take(2) == Seq("authenticate", "register") && calls.last == "end")
    } finally frontend.close()
  }

  test("a new token in the file counts from the next connection on") {
    val frontend = new FakeFrontend(Some(ours)).start()
    try {
      frontend.token = token
      val tokens = file("t", token)
      val l = link(Security.of(Some(tokens), Some(authority)), frontend.address)
      l.start(60000)
      frontend.token = other
      val e = new TPigeonException("the token has expired", "token", "", "renew it", 6, 0)
      frontend.deny(e)
      file("t", other)
      frontend.calls.clear()
      frontend.allow()
      await("it is served again")(frontend.calls.contains("want"))
      assert(frontend.calls.contains("authenticate"))
      l.close()
    } finally frontend.close()
  }

  test("a new authority in the file counts from the next connection on") {
    val (renewed, pem) =
      certificates.make("new", "O=prod, OU=frontend, CN=f1", Some("pigeon://prod/frontend/f1"))
    def text(file: String): String = new String(Files.readAllBytes(Paths.get(file)), "US-ASCII")
    val (first, second) = (new FakeFrontend(Some(ours)).start(), new FakeFrontend(Some(renewed)))
    try {
      val both = file("ca", text(authority))
      val l = link(Security.of(None, Some(both)), first.address, second.address)
      l.start(60000)
      file("ca", text(authority) + text(pem))
      second.start()
      first.close()
      await("the next frontend is believed")(second.calls.contains("want"))
      l.close()
    } finally Seq(first, second).foreach(_.close())
  }

  test("an authority stays while its file cannot be used") {
    val frontend = new FakeFrontend(Some(ours)).start()
    try {
      val copy = folder.resolve("copy")
      Files.copy(Paths.get(authority), copy)
      val security = Security.of(None, Some(copy.toString))
      Files.delete(copy)
      val l = link(security, frontend.address)
      l.start(60000)
      l.close()
      assert(frontend.calls.asScala.toSeq.last == "end")
    } finally frontend.close()
  }

  test("a token that the frontend does not know ends the registration with its words") {
    val frontend = new FakeFrontend(Some(ours)).start()
    frontend.token = other
    val e = refused(frontend, Security.of(Some(file("t", token)), Some(authority)))
    assert(e.what == "it is not known here" && !e.getMessage.contains(token.drop(20)))
  }

  test("a certificate of another authority is refused") {
    val (strange, _) =
      certificates.make("x", "O=prod, OU=frontend, CN=f0", Some("pigeon://prod/frontend/f0"))
    val e = refused(new FakeFrontend(Some(strange)).start(), Security.of(None, Some(authority)))
    assert(e.what.startsWith("TLS: ") && e.getMessage.contains("spark.pigeon.tls.ca"))
  }

  Seq(
    ("master", "O=prod, OU=master, CN=0", Some("pigeon://prod/master/0"), "that of a master"),
    ("uri", "O=prod, OU=frontend, CN=f0", Some("pigeon://prod/node/n"), "that of a node"),
    ("nobody", "CN=f0", None, "neither a URI"),
    ("cluster", "O=prod, CN=Pigeon authority of prod", Some("pigeon://x/frontend/f0"), "cluster x"))
    .foreach { case (name, subject, uri, want) =>
      test(s"a verified certificate of $name is refused") {
        val (context, pem) = certificates.make(name, subject, uri)
        val e = refused(new FakeFrontend(Some(context)).start(), Security.of(None, Some(pem)))
        assert(e.what.contains(want) && e.subject.startsWith("frontend 127.0.0.1:"), e.getMessage)
      }
    }

  test("the subject of a certificate is as good as its URI") {
    val (context, pem) = certificates.make("subject", "O=prod, OU=frontend, CN=f0", None)
    val frontend = new FakeFrontend(Some(context)).start()
    try {
      val l = link(Security.of(None, Some(pem)), frontend.address)
      l.start(60000)
      l.close()
      assert(frontend.calls.asScala.toSeq.last == "end")
    } finally frontend.close()
  }

  test("a token is not sent in clear to another machine") {
    val security = Security.of(Some(file("t", token)), None)
    def to(address: String): Socket = new Socket {
      override def getInetAddress: InetAddress = InetAddress.getByName(address)
    }
    val e = intercept[TPigeonException](security.secure(to("10.0.0.1"), Address("f", 1)))
    assert(e.getProblem == Refusal.Denied && e.getAdvice.contains("spark.pigeon.tls.ca"))
    assert(!e.toString.contains(token.drop(20)))
    security.secure(to("127.0.0.1"), Address("f", 1))
    Security.Open.secure(to("10.0.0.1"), Address("f", 1))
  }

  test("files that cannot be used are refused with what to do") {
    def refusal(token: Option[String], ca: Option[String]): String =
      intercept[Refusal](Security.of(token, ca)).getMessage
    assert(refusal(Some(file("o", token, "rw-r--r--")), None).contains("chmod 600 "))
    assert(refusal(Some(file("o", token, "rw--w----")), None).contains("chmod 600 "))
    assert(refusal(Some(file("n", "hello\n")), None).contains("is no access token"))
    assert(refusal(Some(file("l", "a" * 5000)), None).contains("limit of 4096"))
    assert(refusal(Some(folder.resolve("absent").toString), None).contains("no such file"))
    assert(refusal(None, Some(folder.resolve("absent").toString)).contains("spark.pigeon.tls.ca"))
    assert(refusal(None, Some(file("c", "hello"))).contains("certificate"))
    assert(refusal(None, Some(file("e", ""))).contains("certificate"))
  }
}
