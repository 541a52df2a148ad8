package faults

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

var (
	full = flag.Bool("full", false, "every fault in every phase, instead of a short choice (a quarter of an hour)")
	line = flag.String("line", sparktest.Line, "the line of Spark")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// phases are the stages of phases.py.
var phases = []string{"map", "reduce", "fetch"}

// short are the cases that run without -full.
var short = map[string]bool{
	"grants/kill executor/reduce": true, "grants/kill node monitor/map": true, "grants/kill master/fetch": true,
	"grants/kill frontend/reduce": true, "grants/kill driver/map": true,
}

// inCoarse are the faults that are also tried in mode coarse.
var inCoarse = map[string]bool{"kill executor": true, "kill node monitor": true, "kill frontend": true, "kill driver": true}

func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("real Sparks take minutes; leave -short out")
	}
	spark := sparktest.Find(t, *line)
	for _, mode := range []string{"grants", "coarse"} {
		for _, f := range faults {
			for _, phase := range phases {
				name := mode + "/" + f.name + "/" + phase
				if !*full && !short[name] || mode == "coarse" && (!inCoarse[f.name] || phase == "fetch") {
					continue
				}
				t.Run(name, func(t *testing.T) { runTrial(t, spark, f, mode, phase) })
			}
		}
	}
}

// runTrial runs the application with one fault in one phase.
func runTrial(t *testing.T, spark sparktest.Spark, f fault, mode, phase string) {
	t.Helper()
	c := sparktest.Start(t, sparktest.Options{Frontends: 2})
	s := &trial{T: t, c: c, flags: t.TempDir(), phase: phase}
	s.driver = c.Run(t, spark, job(s.flags, phase, mode))
	s.await()
	if begun := s.begun(); begun > tasks-4 {
		t.Errorf("the fault came too late: %d of %d tasks of the phase have begun", begun, tasks)
	}
	began := time.Now()
	f.inject(s)
	status := s.driver.Wait(t, deadline)
	if f.fatal {
		if status == 0 {
			t.Error("the driver was killed and exits with status 0")
		}
		s.driver = c.Run(t, spark, job(t.TempDir(), "none", mode))
		status = s.driver.Wait(t, deadline)
	}
	if got := strings.TrimSpace(s.driver.Stdout()); status != 0 || got != answer() {
		t.Errorf("status %d, %q; want %q", status, got, answer())
	}
	t.Logf("the answer came %.1f s after the fault", time.Since(began).Seconds())
	c.Clean(t)
}

// deadline of a driver, on a loaded machine.
const deadline = 10 * time.Minute

// tasks of each phase of phases.py.
const tasks = 24

func job(flags, slow, mode string) sparktest.Job {
	script, err := filepath.Abs(filepath.Join("testdata", "phases.py"))
	if err != nil {
		panic(err) // the folder of a test is known
	}
	return sparktest.Job{
		Script: script, Args: []string{flags, slow},
		// Large results are fetched from the executors, by one thread.
		Conf: []string{"spark.pigeon.mode=" + mode, "spark.task.maxDirectResultSize=1k", "spark.resultGetter.threads=1"},
	}
}

// answer is what phases.py prints.
func answer() string {
	sum := 0
	for n := range 2400 {
		sum += n * n
	}
	return fmt.Sprint(24, " ", sum)
}

// trial is an application that suffers one fault.
type trial struct {
	*testing.T
	c      *sparktest.Cluster
	driver *sparktest.Driver
	flags  string
	phase  string
}

// begun is the number of tasks of the phase that have begun.
func (s *trial) begun() int {
	list, err := os.ReadDir(s.flags)
	if err != nil {
		s.Fatal(err)
	}
	return len(list)
}

// await waits until the phase has begun on all slots: it has some of its results
// and lacks others.
func (s *trial) await() {
	s.Helper()
	sparktest.Await(s, "tasks of phase "+s.phase+" have begun", deadline, func() bool { return s.begun() >= 6 }, s.driver)
}
