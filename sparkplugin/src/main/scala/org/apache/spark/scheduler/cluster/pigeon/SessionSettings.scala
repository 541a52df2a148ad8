package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.{SparkConf, SparkContext}

import org.pigeonsched.spark.Priority
import org.pigeonsched.spark.classes.ClassChoice

/**
 * Keeps the application's class, estimate and priority out of the sessions of Spark SQL.
 *
 * A session begins with the settings of its application, and while a query runs, Spark sets the
 * session's settings as local properties of the thread: what the thread or its pool says of the
 * query would never count. What a session sets itself (SET) stays.
 *
 * Spark SQL makes one by its name in spark.sql.extensions, and calls it for each session before its
 * first query. Its classes are called by reflection: the plugin also serves Sparks without SQL, and
 * their packages differ between the lines.
 */
final class SessionSettings extends (AnyRef => Unit) {
  import SessionSettings._

  override def apply(extensions: AnyRef): Unit = {
    val checks: AnyRef => (AnyRef => Unit) = session => {
      forget(session)
      _ => ()
    }
    extensions.getClass.getMethod("injectCheckRule", classOf[AnyRef => Any]).invoke(
      extensions,
      checks)
  }

  private def forget(session: AnyRef): Unit = {
    val application = get(session, "sparkContext").asInstanceOf[SparkContext].conf
    val own = get(session, "conf")
    ofApplication(application).foreach { case (name, value) =>
      if (get(own, "getOption", name) == Some(value)) get(own, "unset", name)
    }
  }
}

private[spark] object SessionSettings {

  private val Extensions = "spark.sql.extensions"
  private val Names = Seq(ClassChoice.Property, ClassChoice.Estimate, Priority.Property)

  /** Has Spark SQL call this class, where the application sets what a session must not repeat. */
  def install(conf: SparkConf): Unit = if (ofApplication(conf).nonEmpty) {
    val others = conf.get(Extensions, "").split(",").map(_.trim).filter(_.nonEmpty)
    conf.set(Extensions, (others :+ classOf[SessionSettings].getName).distinct.mkString(","))
  }

  private def ofApplication(conf: SparkConf): Seq[(String, String)] =
    Names.flatMap(name => conf.getOption(name).map(name -> _))

  private def get(from: AnyRef, method: String, arguments: String*): AnyRef =
    from.getClass.getMethod(method, arguments.map(_.getClass): _*).invoke(from, arguments: _*)
}
