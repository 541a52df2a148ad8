// Package sparkhome finds and describes the user's Spark, and finds the jar of
// Pigeon's plugin for it. The only process it starts is a Python interpreter that
// prints the folder of its pyspark.
//
//	SPARK_HOME is set ────────────────▶ that folder, or an error: never another one
//	else spark-submit in PATH ────────▶ its installation, or the pyspark of the Python next to it
//	else the active virtual env's ────▶ its pyspark
//	else python3, python in PATH ─────▶ their pyspark
//	else ─────────────────────────────▶ an error that lists all of these
//
// An installation is a folder with bin/spark-submit and jars/spark-core_SCALA-VERSION.jar;
// the name of that jar is its version, as for Spark's launcher and our node monitors. A PySpark wheel is such a folder, inside a Python's site-packages.
//
// The supported lines of Spark and their jars are in jar.go; the plugin checks
// the same by itself when it is loaded in another way.
package sparkhome
