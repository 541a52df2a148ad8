package org.apache.spark.scheduler.cluster.pigeon

import scala.collection.JavaConverters._

import org.apache.spark.{SecurityManager, SPARK_VERSION, SparkConf, SparkContext}

import org.pigeonsched.spark.{Address, CommandLine}
import org.pigeonsched.spark.link.ShippedFile
import org.pigeonsched.thrift.application.{TRuntime, TTemplate}

/**
 * The command with which nodes start an executor: a Java process with the class path of the node's
 * Spark, and the address of the driver, from which it fetches the rest of its configuration.
 */
private[spark] final class ExecutorTemplate(
    sc: SparkContext,
    settings: Settings,
    plugin: Option[ShippedFile]) {
  import ExecutorTemplate._

  private val conf = sc.conf
  private val taskCpus = SparkSettings.coresPerTask(conf)
  private val cores = conf.getOption("spark.executor.cores").map(_.toInt)
  private val driver = driverAddress(conf)

  def build(): TTemplate = {
    val slots = cores.fold(0)(c => if (settings.grants) math.max(1, c / taskCpus) else c)
    val t = new TTemplate(
      argv.asJava,
      env.asJava,
      memory,
      slots,
      plugin.map(_.toThrift).toList.asJava,
      driver.toString,
      "spark.driver.host")
    if (settings.classPath.isEmpty) t.setRuntime(runtime)
    t
  }

  private def runtime = new TRuntime(
    "spark",
    SPARK_VERSION,
    SparkHome.find(settings),
    List(SparkHome.mark).asJava,
    List("jars/spark-core_*.jar").asJava,
    Settings.SparkHome)

  private def argv: Seq[String] =
    Seq("{{JAVA_HOME}}/bin/java", "-cp", classPath, s"-Xmx${sc.executorMemory}M") ++
      javaOptions ++ startupSettings ++
      Seq(
        if (settings.grants) PigeonBackend else SparkBackend,
        "--driver-url",
        s"spark://CoarseGrainedScheduler@$driver",
        "--executor-id",
        "{{EXECUTOR_ID}}",
        "--hostname",
        "{{HOSTNAME}}",
        "--cores",
        cores.fold("{{SLOTS}}")(_.toString),
        "--app-id",
        "{{APP_ID}}",
        "--resourceProfileId",
        "0")

  private def classPath: String = {
    val pluginJar = plugin.map(f => s"{{FILE:${f.name}}}").filter(_ => settings.grants)
    val spark = settings.classPath.fold(Seq("{{RUNTIME}}/conf", "{{RUNTIME}}/jars/*"))(Seq(_))
    (conf.getOption("spark.executor.extraClassPath").toSeq ++ pluginJar ++ spark).mkString(":")
  }

  // Spark has already added the module options.
  private def javaOptions: Seq[String] =
    Seq(
      "spark.executor.defaultJavaOptions",
      "spark.executor.extraJavaOptions").flatMap(conf.getOption)
      .filter(_.nonEmpty).flatMap(CommandLine.split)

  // The settings that an executor needs before it can connect to the driver; no secret on a command
  // line.
  private def startupSettings: Seq[String] =
    conf.getAll.toSeq.sortBy(_._1).collect {
      case (k, v) if SparkConf.isExecutorStartupConf(k) && !Secret.findFirstIn(k).isDefined =>
        s"-D$k=$v"
    }

  private def env: Seq[String] = {
    val own = Seq(
      "SPARK_EXECUTOR_DIRS" -> "{{FOLDER}}/local",
      "SPARK_LOG_URL_STDOUT" -> "{{LOG_STDOUT}}",
      "SPARK_LOG_URL_STDERR" -> "{{LOG_STDERR}}",
      "PIGEON_NODE" -> "{{NODE}}",
      "PIGEON_TOKEN" -> "{{TOKEN}}") ++
      (if (settings.classPath.isEmpty) Seq("SPARK_HOME" -> "{{RUNTIME}}") else Nil) ++
      (if (cores.isEmpty) Seq(TaskCpus -> taskCpus.toString) else Nil)
    val users = withLibraryPath(sc.executorEnvs.toMap, conf)
    (users.toSeq.sortBy(_._1) ++ own ++ secrets).map { case (k, v) => s"$k=$v" }
  }

  private def secrets: Seq[(String, String)] = secretsOf(sc.env.securityManager)

  // The heap, what Spark reserves for Python and off the heap, and the overhead of a process.
  private def memory: Long = {
    def mb(key: String): Long = conf.getSizeAsMb(key, "0")
    val heap = sc.executorMemory.toLong
    val factor = conf.getDouble("spark.executor.memoryOverheadFactor", 0.1)
    val least = conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m")
    val overhead = conf.getOption("spark.executor.memoryOverhead")
      .fold(math.max(least, (heap * factor).toLong))(_ => mb("spark.executor.memoryOverhead"))
    val offHeap =
      if (!conf.getBoolean("spark.memory.offHeap.enabled", false)) 0L
      else conf.getSizeAsBytes("spark.memory.offHeap.size", "0") / (1024 * 1024)
    heap + overhead + offHeap + mb("spark.executor.pyspark.memory")
  }
}

private[spark] object ExecutorTemplate {
  val PigeonBackend = "org.apache.spark.executor.PigeonExecutorBackend"
  val SparkBackend = "org.apache.spark.executor.CoarseGrainedExecutorBackend"

  /** The factor by which an executor multiplies its slots to obtain its cores. */
  val TaskCpus = "PIGEON_TASK_CPUS"

  /** Spark has an IPv6 address in brackets, or without them. */
  def driverAddress(conf: SparkConf): Address =
    Address(
      conf.get("spark.driver.host").stripPrefix("[").stripSuffix("]"),
      conf.get("spark.driver.port").toInt)

  // Where the loader of a node, which runs Linux, looks for native libraries.
  private val LibraryPath = "LD_LIBRARY_PATH"

  /** Returns the user's variables with spark.executor.extraLibraryPath, before a path in them. */
  def withLibraryPath(variables: Map[String, String], conf: SparkConf): Map[String, String] =
    conf.getOption("spark.executor.extraLibraryPath").filter(_.nonEmpty).fold(variables) { extra =>
      variables + (LibraryPath -> (extra +: variables.get(LibraryPath).toSeq).mkString(":"))
    }

  /** The secrets without which an executor cannot connect to the driver, as variables. */
  def secretsOf(security: SecurityManager): Seq[(String, String)] = {
    val authentication =
      if (security.isAuthenticationEnabled()) Seq("_SPARK_AUTH_SECRET" -> security.getSecretKey())
      else Nil
    authentication ++ sslPasswords(security).toSeq.sortBy(_._1)
  }

  // Spark 3.5 has no TLS between driver and executors.
  private def sslPasswords(security: SecurityManager): Map[String, String] =
    security.getClass.getMethods.find(_.getName == "getEnvironmentForSslRpcPasswords")
      .fold(Map.empty[String, String])(_.invoke(security).asInstanceOf[Map[String, String]])

  private val Secret = "(?i)secret|password|token".r
}
