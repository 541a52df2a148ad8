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
//
// [ParseArguments] parses the command line of spark-submit and its relatives as
// far as Pigeon must change it, and writes it again. Words that it does not change
// stay as they are, in their places.
//
//	pigeon spark submit  --frontend f:1 --master pigeon://h:1 --jars a.jar  job.py  --master x
//	                     └─ ours, out ─┘└────── options, rewritten ──────┘  └─ never touched ─┘
//
// The grammar is that of Spark's launcher (SparkSubmitOptionParser): options with
// a value, given as "--name value" or "--name=value", switches, and for
// spark-submit the first other word ends them: it is the application, and the words
// after it are the application's own. spark-shell, pyspark and spark-sql mix their
// own words with the options (spark-sql -e "select 1" --master X), so there nothing
// ends them.
//
// Settings that a command line lacks come from a properties file, which is
// therefore read too (properties.go): our --jars would hide its spark.jars.
package sparkhome
