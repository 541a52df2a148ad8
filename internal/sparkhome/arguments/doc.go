// Package arguments parses the command line of spark-submit and its relatives as
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
package arguments
