// Package arguments takes the command line of spark-submit and its kin apart as
// far as Pigeon must change it, and puts it together again. What it does not
// change comes out word for word, in its place.
//
//	pigeon spark submit  --frontend f:1 --master pigeon://h:1 --jars a.jar  job.py  --master x
//	                     └─ ours, out ─┘└────── options, rewritten ──────┘  └─ never touched ─┘
//
// The grammar is that of Spark's launcher (SparkSubmitOptionParser): options with
// a value, given as "--name value" or "--name=value", switches, and for
// spark-submit the first other word ends them: it is the application, and what
// follows is the application's own. spark-shell, pyspark and spark-sql mix words
// of their own with the options (spark-sql -e "select 1" --master X), so there
// nothing ends them.
//
// What a command line leaves open Spark takes from a properties file, which is
// therefore read too (properties.go): our --jars would hide its spark.jars.
package arguments
