package refusals

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

const homeSetting = "spark.pigeon.executor.home"

// refusals lists the inputs that must be refused with a helpful error.
var refusals = []refusal{
	{"the version differs", func(w *world) sparktest.Job {
		return w.count(homeSetting + "=" + w.home("spark-core_2.13-4.0.4.jar"))
	}, [4]string{"needs spark 4.3.", "has no jars/spark-core_2.13-4.3.", "(there is jars/spark-core_2.13-4.0.4.jar)", "or set " + homeSetting}},

	{"Scala differs", func(w *world) sparktest.Job {
		return w.count(homeSetting + "=" + w.home("spark-core_2.12-"+w.spark.Version+".jar"))
	}, [4]string{"which the node does not have", "has no jars/spark-core_2.13-", "(there is jars/spark-core_2.12-", "or set " + homeSetting}},

	{"the plugin is for another line", func(w *world) sparktest.Job {
		j := w.count()
		jar := filepath.Join(filepath.Dir(w.spark.Jar), "pigeon-spark-4_2.13.jar")
		j.Options = []string{"--jars", jar}
		return j
	}, [4]string{"This jar of Pigeon does not serve Spark 4.3.", "The jar is pigeon-spark-4_2.13", "Nothing was started", "Use pigeon-spark-4.3_2.13.jar"}},

	{"the node has no jar of Spark", func(w *world) sparktest.Job {
		return w.count(homeSetting + "=" + w.home(""))
	}, [4]string{"which the node does not have", `executor `, "has no jars/spark-core_2.13-", "or set " + homeSetting}},

	{"the executors' class path is wrong", func(w *world) sparktest.Job {
		return w.count("spark.pigeon.executor.classPath=" + w.home("") + "/jars/*")
	}, [4]string{"executors in a row have ended soon after their start", `application "spark-`, "while replacing them", "correct the cause that the last one reports"}},

	{"SPARK_HOME is wrong", func(w *world) sparktest.Job {
		j := w.count()
		j.Env = []string{"SPARK_HOME=" + w.t.TempDir()}
		return j
	}, [4]string{"this is no installation of Spark: it has no bin/spark-submit", "SPARK_HOME", "looking for bin/spark-submit and jars/spark-core_*.jar", "pigeon spark setup DIR"}},

	{"memory that fits nowhere", func(w *world) sparktest.Job {
		return w.count("spark.executor.memory=900g")
	}, [4]string{"MB for executors", "MB each of application", "finding nodes for them", "give executors less memory"}},

	{"an unknown class", func(w *world) sparktest.Job {
		return w.count("spark.pigeon.class=urgent")
	}, [4]string{"There is no class 'urgent'", "etting spark.pigeon.class", "The classes are short and long", "Set spark.pigeon.class to short or long"}},

	{"an unknown class of a stage", func(w *world) sparktest.Job {
		j := w.count()
		j.Args = []string{"class=urgent"}
		return j
	}, [4]string{"There is no class 'urgent'", "spark.pigeon.class", "The classes are short and long", "Set spark.pigeon.class to short or long"}},

	{"a task below a processor", func(w *world) sparktest.Job {
		return w.count("spark.task.cpus=0.5")
	}, [4]string{"'0.5' cannot be used", "etting spark.task.cpus", "A task has a slot of its own in mode grants", "set spark.pigeon.mode=coarse"}},

	{"a pipelined shuffle group", func(w *world) sparktest.Job {
		return sparktest.Job{Verb: "shell", Options: []string{"-i", w.script("pipelined.scala")}}
	}, [4]string{"Pipelined shuffle groups (stateful queries in real-time mode) do not run in Pigeon's mode grants", "tage 0 of job 0", "All its tasks must start at the same time", "spark.pigeon.mode=coarse"}},

	{"no frontend answers", func(w *world) sparktest.Job {
		j := w.count()
		j.Master = "pigeon://127.0.0.1:1,127.0.0.1:2"
		return j
	}, [4]string{"No frontend of Pigeon answers", "pplication spark-", "ried 127.0.0.1:1, 127.0.0.1:2", "correct the master URL"}},

	{"the driver cannot be reached", func(w *world) sparktest.Job {
		// An address for documentation: no host has it.
		return w.count("spark.driver.host=192.0.2.1", "spark.driver.bindAddress=127.0.0.1")
	}, [4]string{"cannot connect to the application at 192.0.2.1:", "executor ", "connecting before its start", "set spark.driver.host to an address"}},
}

// sameID is the error for a second application with an id in use, from the frontend
// of the first one and from another, which learns of it from the nodes.
var sameID = [][4]string{
	{"nother process with this id is alive", `pplication "twice"`, "egistering it", "hoose another id"},
	{"nother process with this id is alive", `pplication "twice"`, "erving it", "hoose another id"},
}

// TestSecondApplication: the first one continues, whichever frontend the second calls.
func TestSecondApplication(t *testing.T) {
	if testing.Short() {
		t.Skip("real Sparks take minutes; leave -short out")
	}
	w := &world{t: t, spark: sparktest.Find(t, sparktest.Line)}
	w.c = sparktest.Start(t, sparktest.Options{Frontends: 2})
	job := w.count("spark.pigeon.application.id=twice")
	end := filepath.Join(t.TempDir(), "end")
	first := job
	first.Args = []string{"until=" + end}
	d := w.c.Run(t, w.spark, first)
	sparktest.Await(t, "the first one has counted", deadline, func() bool { return d.Stdout() != "" }, d)
	for i, frontend := range w.c.Frontends() {
		second := job
		second.Master = "pigeon://" + frontend
		other := w.c.Run(t, w.spark, second)
		w.refused(t, other, refusal{parts: sameID[i]})
		if strings.HasPrefix(other.Stdout(), "100\n") {
			t.Errorf("the second one, of frontend %d, has run: %s", i, other.Stdout())
		}
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status := d.Wait(t, deadline); status != 0 || d.Stdout() != "100\n" {
		t.Errorf("the first one: status %d, %q", status, d.Stdout())
	}
	w.c.Clean(t)
}

// TestOneFrontendAnswers: frontends that do not answer are skipped, and named.
func TestOneFrontendAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("real Sparks take minutes; leave -short out")
	}
	w := &world{t: t, spark: sparktest.Find(t, sparktest.Line)}
	w.c = sparktest.Start(t, sparktest.Options{})
	j := w.count()
	j.Master = "pigeon://127.0.0.1:1," + w.c.Frontends()[0]
	d := w.c.Run(t, w.spark, j)
	if status := d.Wait(t, deadline); status != 0 || d.Stdout() != "100\n" {
		t.Errorf("status %d, %q", status, d.Stdout())
	}
	w.c.Clean(t)
}
