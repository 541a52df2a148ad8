package org.apache.spark.scheduler.cluster.pigeon

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.SparkConf

import org.pigeonsched.spark.{JobClass, Refusal}
import org.pigeonsched.spark.grants.{Grant, Kind}

class SettingsSuite extends AnyFunSuite {

  private def conf(settings: (String, String)*): SparkConf =
    new SparkConf(false).setAll(settings)

  test("owner and priority are those of the application unless it sets none") {
    val set = Settings.of(conf(
      "spark.pigeon.owner" -> "team/alice",
      "spark.pigeon.priority" -> "-2",
      "spark.pigeon.pool.etl.owner" -> "team/etl",
      "spark.pigeon.pool.a.b.owner" -> "team"))
    assert(set.owner.contains("team/alice") && set.priority == -2)
    val unset = Settings.of(conf())
    assert(unset.owner.isEmpty && unset.priority == 0)
  }

  Seq(
    "spark.pigeon.owner" -> "team//alice",
    "spark.pigeon.pool.etl.owner" -> " ",
    "spark.pigeon.priority" -> "urgent",
    "spark.pigeon.cutoff" -> "soon",
    "spark.pigeon.cutoff" -> "0s",
    "spark.pigeon.cutoff" -> "-1",
    "spark.pigeon.estimate" -> "soon",
    "spark.pigeon.estimate" -> "-2s",
    "spark.pigeon.grant.timeout" -> "soon",
    "spark.pigeon.grant.timeout" -> "0s",
    "spark.pigeon.grant.timeout" -> "-5s",
    "spark.pigeon.grant.timeout" -> "30us",
    "spark.pigeon.grant.timeout" -> "99",
    "spark.pigeon.register.timeout" -> "soon",
    "spark.pigeon.register.timeout" -> "-1s",
    "spark.pigeon.application.id" -> "",
    "spark.pigeon.executor.home" -> "",
    "spark.pigeon.executor.classPath" -> " ",
    "spark.pigeon.token.file" -> "",
    "spark.pigeon.tls.ca" -> "",
    "spark.task.cpus" -> "0",
    "spark.task.cpus" -> "one",
    "spark.task.cpus" -> "0.5",
    "spark.task.cpus" -> "-1.5",
    "spark.executor.instances" -> "-5",
    "spark.pigeon.pool.etl.class" -> "tiny",
    "spark.pigeon.pool.etl.priority" -> "1",
    "spark.pigeon.owners" -> "alice").foreach { case (key, value) =>
    test(s"the refusal of $key=$value names the setting") {
      assert(intercept[Refusal](Settings.of(conf(key -> value))).getMessage.contains(key))
    }
  }

  test("times that can work are accepted") {
    val set = Settings.of(conf(
      Settings.GrantTimeout -> "100ms",
      Settings.RegisterTimeout -> "0s",
      "spark.pigeon.estimate" -> "0s",
      "spark.task.cpus" -> "2",
      "spark.executor.instances" -> "0"))
    assert(set.registerMillis == 0 && Settings.of(conf()).registerMillis == 7000)
  }

  test("a task of a part of a processor is for mode coarse, where Spark has such tasks") {
    def of(cpus: String, mode: String): Settings =
      Settings.of(conf("spark.task.cpus" -> cpus, Settings.Mode -> mode))
    if (SparkShim.decimalCpus) {
      of("1.5", "grants")
      of("0.5", "coarse")
      val why = intercept[Refusal](of("0.5", "grants")).getMessage
      assert(why.contains("spark.pigeon.mode=coarse"))
    } else Seq("grants", "coarse").foreach(m => intercept[Refusal](of("1.5", m)))
    Seq("1" -> 1, "1.5" -> 2, "2" -> 2, "2.01" -> 3).foreach { case (cpus, cores) =>
      assert(SparkSettings.coresPerTask(conf("spark.task.cpus" -> cpus)) == cores)
    }
    assert(SparkSettings.coresPerTask(conf()) == 1)
  }

  test("devices, which nodes do not count, are refused by their setting in both modes") {
    for {
      setting <- Seq("spark.executor.resource.gpu.amount", "spark.task.resource.fpga.amount")
      mode <- Seq("grants", "coarse")
    } {
      val refusal = intercept[Refusal](Settings.of(conf(setting -> "1", Settings.Mode -> mode)))
      assert(refusal.getMessage.contains(setting) && refusal.getMessage.contains("do not count"))
    }
    Settings.of(conf("spark.driver.resource.gpu.amount" -> "1"))
  }

  test("where the application has a class, Spark SQL is told once to keep it out of sessions") {
    val mine = classOf[SessionSettings].getName
    val c = conf("spark.pigeon.priority" -> "1", "spark.sql.extensions" -> "a.B")
    (1 to 2).foreach(_ => SessionSettings.install(c))
    assert(c.get("spark.sql.extensions") == s"a.B,$mine")
    val none = conf("spark.pigeon.owner" -> "x")
    SessionSettings.install(none)
    assert(!none.contains("spark.sql.extensions"))
  }

  test("an estimate without a unit is milliseconds, as a cutoff is") {
    assert(Settings.nanos("7", "s", "") == 7000000L && Settings.nanos("7us", "s", "") == 7000L)
    assert(Settings.nanos("999999999999999s", "s", "") == Long.MaxValue)
  }

  test("the cutoff is exact to the microsecond, and milliseconds without a unit") {
    Seq("500us" -> 500000L, "1500us" -> 1500000L, "7" -> 7000000L, "2s" -> 2000000000L).foreach {
      case (text, nanos) =>
        assert(Settings.of(conf(Settings.Cutoff -> text)).cutoffNanos.contains(nanos), text)
    }
    assert(Settings.of(conf()).cutoffNanos.isEmpty)
  }

  test("grants of a forgotten level serve nobody") {
    val kinds = new RecentKinds(most = 2)
    val bob = Kind(JobClass.Short, "bob")
    def grant(level: String): Grant = Grant("id", level, JobClass.Short, 0)
    kinds.put("1", bob)
    kinds.put("2", Kind(JobClass.Short))
    assert(kinds.of(grant("1")) == bob)
    kinds.put("3", Kind(JobClass.Long))
    assert(kinds.of(grant("1")) == bob && kinds.of(grant("3")).jobClass == JobClass.Long)
    assert(!Seq("", "bob").contains(kinds.of(grant("2")).owner), "the least recently used")
  }
}
