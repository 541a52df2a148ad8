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

  /** With less, grants would expire while the driver's answers are on the way. */
  val LeastGrantTimeoutMillis = 100L

  private val PoolClass = """spark\.pigeon\.pool\.(.+)\.class""".r
  private val PoolOwner = """spark\.pigeon\.pool\.(.+)\.owner""".r

  /** How users write an estimate. */
  val EstimateForm = "write it as 500ms, 2s or 1m: the mean duration of one task of the stage"

  // An empty path would be the folder in which the driver was started.
  private val NotEmpty =
    Set(ApplicationId, SparkHome, ClassPath, Security.TokenFile, Security.AuthorityFile)
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
    val grants = mode(conf.get(Mode, "grants"))
    SparkSettings.check(conf, grants)
    Settings(
      grants = grants,
      lease = conf.getBoolean(Lease, true),
      jobClass =
        conf.getOption(ClassChoice.Property).map(JobClass.of(_, ClassChoice.Property).name),
      owner = conf.getOption(Owner.Property).map(Owner.of(_, Owner.Property)),
      priority = conf.getOption(Priority.Property).fold(0)(Priority.of),
      cutoffNanos = conf.getOption(Cutoff).map(cutoff),
      applicationId = conf.getOption(ApplicationId),
      sparkHome = conf.getOption(SparkHome),
      classPath = conf.getOption(ClassPath),
      registerMillis = registerMillis(conf.get(RegisterTimeout, "7s")),
      security = Security.of(
        conf.getOption(Security.TokenFile),
        conf.getOption(Security.AuthorityFile)))
  }

  /**
   * Returns the nanoseconds of a duration that is not negative, to the microsecond. As in Spark's
   * own settings, a number without a unit is milliseconds. Throws a Refusal that names the setting.
   */
  def nanos(text: String, setting: String, next: String): Long = {
    val withUnit = if (text.trim.matches("-?[0-9]+")) s"${text.trim}ms" else text
    val micros =
      try JavaUtils.timeStringAs(withUnit, TimeUnit.MICROSECONDS)
      catch {
        case e: NumberFormatException => throw new Refusal(
            s"'$text' is no duration",
            s"setting $setting",
            e.getMessage,
            next,
            e)
      }
    if (micros < 0) unusable(text, setting, "a duration is not negative", next)
    TimeUnit.MICROSECONDS.toNanos(micros)
  }

  private def cutoff(text: String): Long = {
    val next = "write it as 500us, 200ms or 2s: tasks that take longer are long"
    val cutoff = nanos(text, Cutoff, next)
    if (cutoff == 0) unusable(text, Cutoff, "no task takes less", next)
    cutoff
  }

  // With 0, each frontend is tried once.
  private def registerMillis(text: String): Long = TimeUnit.NANOSECONDS.toMillis(
    nanos(text, RegisterTimeout, "write it as 500ms, 7s or 1m, or leave it out: then it is 7s"))

  // Executors read it; a value with which they cannot work is refused here.
  private def checkGrantTimeout(text: String): Unit = {
    val next = s"write it as 500ms or 30s, or leave it out: then it is $DefaultGrantTimeout"
    val millis = TimeUnit.NANOSECONDS.toMillis(nanos(text, GrantTimeout, next))
    if (millis < LeastGrantTimeoutMillis) unusable(
      text,
      GrantTimeout,
      s"grants would expire before the driver can answer; the least is $LeastGrantTimeoutMillis ms",
      next)
  }

  private def unusable(text: String, setting: String, why: String, next: String): Nothing =
    throw new Refusal(s"'${text.take(100)}' cannot be used", s"setting $setting", why, next)

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
      case GrantTimeout => checkGrantTimeout(conf.get(GrantTimeout))
      case key @ ClassChoice.Estimate => nanos(conf.get(key), key, EstimateForm)
      case key if NotEmpty(key) && conf.get(key).trim.isEmpty =>
        unusable(conf.get(key), key, "it is empty", "give it a value, or leave it out")
      case key if Known(key) =>
      case key => throw new Refusal(
          s"there is no setting $key",
          "the application's configuration",
          s"Pigeon's settings are ${Known.toSeq.sorted.mkString(", ")}" +
            ", spark.pigeon.pool.<name>.class and spark.pigeon.pool.<name>.owner",
          "correct the name or leave the setting out")
    }
}
