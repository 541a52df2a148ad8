package applications

import (
	"testing"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// feature is something of Spark that a cluster manager can break.
type feature struct {
	name  string
	what  string // for people
	modes []string
	try   func(t *testing.T, s sparktest.Spark, mode string)
}

func featureList() []feature {
	inGrants, inBoth := []string{grants}, []string{grants, coarse}
	return []feature{
		{"dynamic allocation", "no executor before work, two for it, none after it, and again", inBoth, allocation},
		{"executors on request", "killExecutor, requestExecutors", inBoth, request},
		{"speculation", "a hanging attempt is overtaken by one on the other node", inBoth, speculation},
		{"pools", "FAIR: the later, short job ends first; FIFO: it does not", inGrants, pools},
		{"classes of queries", "of DataFrames, SQL, JDBC and Connect: the thread's, the pool's and the session's precede the application's", inGrants, classesOfQueries},
		{"cancellation", "of a job group: tasks end, their slots serve the next job", inBoth, cancellation},
		{"task.cpus", "spark.task.cpus=2: one task at a time in an executor of two cores, a slot each; on 4.3 also 1.5", inGrants, taskCPUs},
		{"fetch failure", "shuffle files lost under a running executor: the stage runs again", inBoth, fetchFailure},
		{"executor lost", "killed with its shuffle files: replaced, computed again", inBoth, executorLost},
		{"task failures", "once: retried; four times: the job is aborted, status 1; the application's own status passes", inGrants, taskFailures},
		{"authentication", "spark.authenticate with a secret, on no executor's command line", inBoth, authentication},
		{"event log", "complete, readable, every task once", inGrants, eventLog},
		{"page and metrics", "executors with log links that answer, source pigeon", inGrants, observation},
		{"barrier", "coarse: runs; grants: refused, naming coarse", inBoth, barrier},
		{"sharing", "two applications at once: never more tasks than slots, each goes on", inGrants, sharing},
	}
}

// TestFeatures tries each on its own cluster.
func TestFeatures(t *testing.T) {
	if !*full {
		t.Skip("left out without -full: go test ./sparkplugin/sparktest/applications -full -run Features (15 minutes)")
	}
	spark := sparktest.Find(t, *features)
	for _, f := range featureList() {
		t.Run(f.name, func(t *testing.T) {
			ran := run{Line: spark.Line(), Version: spark.Version, Name: f.name, What: f.what, Feature: true}
			for _, mode := range f.modes {
				if !wanted(mode) {
					continue
				}
				t.Run(mode, func(t *testing.T) {
					record(t, ran.in(mode))
					f.try(t, spark, mode)
				})
			}
		})
	}
}

// featureJob is a job of one of the scripts in testdata/features.
func featureJob(name, mode string, conf ...string) sparktest.Job {
	return sparktest.Job{Script: testdata("features", name), Conf: append([]string{"spark.pigeon.mode=" + mode}, conf...)}
}
