package org.apache.spark.scheduler.cluster.pigeon

import java.util.concurrent.TimeUnit

import org.apache.spark.SparkConf
import org.apache.spark.network.util.JavaUtils

import org.pigeonsched.spark.{JobClass, Owner, Priority, Refusal}
import org.pigeonsched.spark.classes.ClassChoice
import org.pigeonsched.spark.link.Security

/**
 * The settings of an application, all below spark.pigeon. docs/spark.md lists them for users.
 *
 * @param grants          true: each task runs under a grant; false (coarse): executors hold their
 *                        slots and Spark schedules in them, as on other cluster managers
 * @param lease           whether slots may be kept from one task to the next while the cluster
 *                        allows it
 * @param jobClass        of all stages without a more specific setting
 * @param owner           of the application; None: its user
 * @param priority        of its work among that of its owner, where a job sets none
 * @param cutoffNanos     between short and long; None: the cluster's own
 * @param applicationId   None: one is generated
 * @param sparkHome       on the nodes; None: the path of the driver's own Spark
 * @param classPath       of executors, instead of a Spark home
 * @param registerMillis  how long the driver tries to reach a frontend before it gives up
 * @param security        how frontends are verified, and learn who calls
 */
private[spark] final case class Settings(
    grants: Boolean,
    lease: Boolean,
    jobClass: Option[String],
    owner: Option[String],
    priority: Int,
    cutoffNanos: Option[Long],
    applicationId: Option[String],
    sparkHome: Option[String],
    classPath: Option[String],
    registerMillis: Long,
    security: Security)

private[spark] object Settings {

  val Mode = "spark.pigeon.mode"
  val Lease = "spark.pigeon.lease"
  val Cutoff = "spark.pigeon.cutoff"
  val ApplicationId = "spark.pigeon.application.id"
  val SparkHome = "spark.pigeon.executor.home"
  val ClassPath = "spark.pigeon.executor.classPath"
  val RegisterTimeout = "spark.pigeon.register.timeout"
  val GrantTimeout = "spark.pigeon.grant.timeout"
  val DefaultGrantTimeout = "30s"

  private val PoolClass = """spark\.pigeon\.pool\.(.+)\.class""".r
  private val PoolOwner = """spark\.pigeon\.pool\.(.+)\.owner""".r
  private val Known =
    Set(
      Mode,
      Lease,
      Cutoff,
      ApplicationId,
      SparkHome,
      ClassPath,
      RegisterTimeout,
      GrantTimeout,
      Security.TokenFile,
      Security.AuthorityFile,
      Owner.Property,
      Priority.Property,
      ClassChoice.Property,
      ClassChoice.Estimate)

  /** Throws a Refusal that names the setting. */
  def of(conf: SparkConf): Settings = {
    checkNames(conf)
    Settings(
      grants = mode(conf.get(Mode, "grants")),
      lease = conf.getBoolean(Lease, true),
      jobClass =
        conf.getOption(ClassChoice.Property).map(JobClass.of(_, ClassChoice.Property).name),
      owner = conf.getOption(Owner.Property).map(Owner.of(_, Owner.Property)),
      priority = conf.getOption(Priority.Property).fold(0)(Priority.of),
      cutoffNanos = conf.getOption(Cutoff).map(cutoff),
      applicationId = conf.getOption(ApplicationId),
      sparkHome = conf.getOption(SparkHome),
      classPath = conf.getOption(ClassPath),
      registerMillis = conf.getTimeAsMs(RegisterTimeout, "7s"),
      security = Security.of(
        conf.getOption(Security.TokenFile),
        conf.getOption(Security.AuthorityFile)))
  }

  // As exact as an estimate, which is compared with it. A number without a unit is milliseconds.
  private def cutoff(text: String): Long = {
    val withUnit = if (text.trim.matches("[0-9]+")) s"${text.trim}ms" else text
    try TimeUnit.MICROSECONDS.toNanos(JavaUtils.timeStringAs(withUnit, TimeUnit.MICROSECONDS))
    catch {
      case e: NumberFormatException => throw new Refusal(
          s"'$text' is no duration",
          s"setting $Cutoff",
          e.getMessage,
          "write it as 500us, 200ms or 2s: tasks that take longer are long",
          e)
    }
  }

  private def mode(name: String): Boolean = name match {
    case "grants" => true
    case "coarse" => false
    case other => throw new Refusal(
        s"there is no mode '$other'",
        s"setting $Mode",
        "the modes are grants and coarse",
        "set it to grants (slots are shared task by task) or coarse (executors hold their slots)")
  }

  private def checkNames(conf: SparkConf): Unit =
    conf.getAll.map(_._1).filter(_.startsWith("spark.pigeon.")).sorted.foreach {
      case key @ PoolClass(_) => JobClass.of(conf.get(key), key)
      case key @ PoolOwner(_) => Owner.of(conf.get(key), key)
      // Executors read it; a value that they cannot read is refused here.
      case GrantTimeout => conf.getTimeAsMs(GrantTimeout, DefaultGrantTimeout)
      case key if Known(key) =>
      case key => throw new Refusal(
          s"there is no setting $key",
          "the application's configuration",
          s"Pigeon's settings are ${Known.toSeq.sorted.mkString(", ")}" +
            ", spark.pigeon.pool.<name>.class and spark.pigeon.pool.<name>.owner",
          "correct the name or leave the setting out")
    }
}
