package org.apache.spark.scheduler.cluster.pigeon

import org.apache.spark.{Dependency, NarrowDependency}
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.Stage

/**
 * Identifies a stage that is run again: by the place in the program that called it and the shape of
 * its plan up to its shuffles. Queries typed into a SQL shell all have the same call site; the
 * shape distinguishes them. Under Spark Connect the call site is the request, which has an id of
 * its own each time: there only the shape counts.
 */
private[spark] object StageKey {

  /** A bound on how much of a plan is examined. */
  val MaxOperators = 32

  /** Returns a text of bounded length, the same for the same stage of two jobs. */
  def of(stage: Stage): String =
    callSite(stage.name, stage.details) + s"|${stage.getClass.getSimpleName}" +
      s"|${Integer.toHexString(shape(stage.rdd).hashCode)}"

  /** The place in the program, as far as it is the same in each run. */
  def callSite(name: String, details: String): String =
    if (name.startsWith(Connect)) Connect else s"$name|${Integer.toHexString(details.hashCode)}"

  // How Spark Connect names the stages of a request.
  private val Connect = "Spark Connect"

  private def shape(last: RDD[_]): String = {
    val text = new StringBuilder
    var rdds: List[RDD[_]] = List(last)
    var left = MaxOperators
    while (rdds.nonEmpty && left > 0) {
      val rdd = rdds.head
      text.append(rdd.getClass.getSimpleName).append(
        ':').append(rdd.scope.map(_.name).getOrElse("")).append(';')
      rdds = parents(rdd) ++ rdds.tail
      left -= 1
    }
    text.toString
  }

  private def parents(rdd: RDD[_]): List[RDD[_]] = rdd.dependencies.toList.flatMap(parent(_))

  // Across a shuffle there is another stage.
  private def parent(dependency: Dependency[_]): List[RDD[_]] = dependency match {
    case narrow: NarrowDependency[_] => List(narrow.rdd)
    case _ => Nil
  }
}
