package applications

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// patience is what an application is given, on a loaded machine of two cores.
const patience = 10 * time.Minute

// application is a program that knows nothing of Pigeon.
type application struct {
	name string
	what string // for people
	// job returns the job to run. A local one runs on master local[2] too.
	job func(s sparktest.Spark, c *sparktest.Cluster) sparktest.Job
	// sameAs is the application whose answers it must give, "" for its own.
	sameAs string
	// outside is set for one that starts by a program other than "pigeon spark" and
	// names the cluster itself.
	outside bool
	// coarse is set for one that is tried in mode coarse too.
	coarse bool
	// short is set for one that every run of the tests has.
	short bool
}

var applications = []application{
	{name: "rdd", what: "PySpark: RDDs with shuffles, a broadcast, an accumulator, a cache", job: script("rdd.py"), coarse: true, short: true},
	{name: "dataframe", what: "DataFrames: windows, pivot, three joins, partitioned files, a cache", job: script("dataframe.py"), coarse: true},
	{name: "tpch", what: "SQL: TPC-H Q1, Q3, Q5, Q6, Q10, 60,000 line items", job: script("tpch.py", "1"), coarse: true, short: true},
	{name: "udf", what: "PySpark: Python UDF, pandas UDF, mapInPandas, applyInPandas", job: script("udf.py"), coarse: true, short: true},
	{name: "stream", what: "Structured Streaming: files with a state and foreachBatch; rate source, memory sink, stop", job: script("stream.py"), coarse: true},
	{name: "spark-shell", what: "spark-shell -i (4.0: typed): Scala, RDDs of its own classes, DataFrames", job: shell, coarse: true},
	{name: "spark-sql", what: "spark-sql -f: tables, join, window", job: sql, coarse: true},
	{name: "pyspark", what: "pyspark: lines typed into the shell", job: pyspark},
	{name: "builder", what: "plain python: SparkSession.builder names the master and the jar", job: builder, outside: true},
	{name: "spark-submit", what: "Spark's own spark-submit --master spark-pigeon://... --jars", job: stock, sameAs: "rdd", outside: true},
}

func testdata(names ...string) string {
	return filepath.Join(append([]string{sparktest.Root(), "sparkplugin", "sparktest", "applications", "testdata"}, names...)...)
}

func script(name string, args ...string) func(sparktest.Spark, *sparktest.Cluster) sparktest.Job {
	return func(sparktest.Spark, *sparktest.Cluster) sparktest.Job {
		return sparktest.Job{Script: testdata(name), Args: args}
	}
}

// The shell of 4.0 knows no -i (SPARK-52587).
func shell(s sparktest.Spark, _ *sparktest.Cluster) sparktest.Job {
	if s.Line() == "4.0" {
		return sparktest.Job{Verb: "shell", Stdin: read(testdata("rdd.scala"))}
	}
	return sparktest.Job{Verb: "shell", Options: []string{"-i", testdata("rdd.scala")}}
}

func sql(sparktest.Spark, *sparktest.Cluster) sparktest.Job {
	return sparktest.Job{Verb: "sql", Options: []string{"-f", testdata("query.sql")}}
}

// Lines come from a file, but are treated as typed: -i tells Python so.
func pyspark(s sparktest.Spark, _ *sparktest.Cluster) sparktest.Job {
	return sparktest.Job{Verb: "pyspark", Stdin: read(testdata("shell.py")), Env: []string{"PYSPARK_DRIVER_PYTHON_OPTS=-i"}}
}

func builder(s sparktest.Spark, c *sparktest.Cluster) sparktest.Job {
	return sparktest.Job{Command: []string{python(s), testdata("builder.py"), "spark-" + c.Master(), s.Jar}, Env: outside(s)}
}

func stock(s sparktest.Spark, c *sparktest.Cluster) sparktest.Job {
	words := []string{s.Program("spark-submit"), "--master", "spark-" + c.Master(), "--jars", s.Jar, "--executor-memory", "512m", testdata("rdd.py")}
	return sparktest.Job{Command: words, Env: outside(s)}
}

// outside is what "pigeon spark" sets by itself.
func outside(s sparktest.Spark) []string {
	return []string{"SPARK_LOCAL_IP=127.0.0.1", "PYSPARK_PYTHON=" + python(s)}
}

// python is the interpreter of a wheel; an unpacked distribution has none.
func python(s sparktest.Spark) string {
	if s.Python == "" {
		return "python3"
	}
	return s.Python
}

// TestApplications runs them on every line, next to the same programs on local[2].
func TestApplications(t *testing.T) {
	for line := range strings.FieldsSeq(*lines) {
		t.Run(line, func(t *testing.T) {
			spark := sparktest.Find(t, line)
			for _, a := range applications {
				if *full || a.short {
					t.Run(a.name, func(t *testing.T) { a.test(t, spark) })
				}
			}
		})
	}
}

// test runs the application in each mode, and locally.
func (a *application) test(t *testing.T, spark sparktest.Spark) {
	expected := known(t, a.answersOf())
	cluster := sparktest.Start(t, sparktest.Options{})
	ran := run{Line: spark.Line(), Version: spark.Version, Name: a.name, What: a.what}
	if *full && !a.outside && wanted(local) {
		t.Run(local, func(t *testing.T) {
			record(t, ran.in(local))
			job := a.job(spark, cluster)
			job.Master = "local[2]"
			expected.check(t, cluster.Run(t, spark, job))
		})
	}
	for _, mode := range a.modes() {
		t.Run(mode, func(t *testing.T) {
			record(t, ran.in(mode))
			job := a.job(spark, cluster)
			job.Conf = append(job.Conf, "spark.pigeon.mode="+mode)
			expected.check(t, cluster.Run(t, spark, job))
			cluster.Clean(t)
		})
	}
}

func (a *application) answersOf() string {
	if a.sameAs != "" {
		return a.sameAs
	}
	return a.name
}

func (a *application) modes() (list []string) {
	if !*full || wanted(grants) {
		list = append(list, grants)
	}
	if *full && a.coarse && wanted(coarse) {
		list = append(list, coarse)
	}
	return list
}

// wanted reports whether a mode was asked for.
func wanted(mode string) bool { return slices.Contains(strings.Fields(*modes), mode) }

// The modes of the plugin, and Spark without it.
const (
	grants = "grants"
	coarse = "coarse"
	local  = "local"
)

// TestNamesAreOnce: runs are recorded by name.
func TestNamesAreOnce(t *testing.T) {
	seen := map[string]bool{}
	see := func(name string) {
		holds(t, name+" is there once", !seen[name])
		seen[name] = true
	}
	for _, a := range applications {
		see(a.name)
	}
	for _, f := range featureList() {
		see(f.name)
	}
}
