package org.pigeonsched.spark

import org.scalatest.funsuite.AnyFunSuite

class MasterUrlSuite extends AnyFunSuite {

  Seq(
    "pigeon://a:1" -> Seq(Address("a", 1)),
    "spark-pigeon://a:1,b:65535" -> Seq(Address("a", 1), Address("b", 65535)),
    "pigeon://a:1, b:2/" -> Seq(Address("a", 1), Address("b", 2)),
    "pigeon://a:1,a:1" -> Seq(Address("a", 1)),
    "pigeon://[::1]:20503" -> Seq(Address("::1", 20503))).foreach { case (url, want) =>
    test(s"$url is understood")(assert(MasterUrl.parse(url) == want))
  }

  Seq(
    "spark://a:1" -> "neither pigeon:// nor spark-pigeon://",
    "pigeon://" -> "'' is not host:port",
    "pigeon://a" -> "'a' is not host:port",
    "pigeon://a:0" -> "'a:0' is not host:port",
    "pigeon://a:65536" -> "'a:65536' is not host:port",
    "pigeon://a:1,,b:2" -> "'' is not host:port",
    (1 to 65).map(i => s"h$i:1").mkString(
      "pigeon://",
      ",",
      "") -> "more than 64 frontends").foreach { case (url, why) =>
    test(s"${url.take(40)} is refused") {
      val e = intercept[Refusal](MasterUrl.parse(url))
      assert(e.getMessage.contains(why))
      assert(e.subject.contains(url) && e.next.nonEmpty)
    }
  }

  test("an address of IP version 6 is written as it is read") {
    assert(Address.parse(Address("::1", 5).toString).contains(Address("::1", 5)))
  }
}
