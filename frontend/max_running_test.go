package frontend_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
)

// Under early and late binding at most max_running tasks of a job run at a time, also after a
// restart of its frontend, and all of them run.
func TestMaxRunning(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ spec, class string }{{"pigeon", "short"}, {"sparrow", "short"}, {"hawk", "long"}} {
		t.Run(tc.spec, func(t *testing.T) {
			c := newCluster(t, tc.spec)
			c.checkMaxRunning(t, c.fronts[0], tc.class)
		})
	}
}

func (c *cluster) checkMaxRunning(t *testing.T, f *frontOf, class string) {
	// Each task counts those that run, itself included.
	folder := t.TempDir()
	counts := filepath.Join(t.TempDir(), "counts")
	r := script("counted", `touch "$1/$PIGEON_TASK"; ls "$1" | wc -l >>`+counts+`; sleep 0.02; rm "$1/$PIGEON_TASK"`, folder)
	r.Tasks = slices.Repeat(r.Tasks, 20)
	r.Class, r.MaxRunning = class, 3
	c.submit(f, r)
	if s := c.done(f, "counted"); s.Completed != 20 || s.Attempts != 20 {
		t.Errorf("%+v", s)
	}
	text, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(text))
	if len(all) != 20 {
		t.Errorf("%d of 20 tasks counted: %q", len(all), all)
	}
	for _, count := range all {
		if n, err := strconv.Atoi(count); err != nil || n < 1 || n > 3 {
			t.Errorf("%s tasks ran at a time; %v", count, err)
		}
	}

	// Two of six run, and are the same ones after a restart; when one ends another one starts.
	gates := t.TempDir()
	r = script("gated", `while ! [ -e "$1/$PIGEON_TASK" ]; do sleep 0.01; done`, gates)
	r.Tasks = slices.Repeat(r.Tasks, 6)
	r.Class, r.MaxRunning = class, 2
	c.submit(f, r)
	before := awaitThrottled(t, f, 2, 4)
	f = c.restartFrontend(f)
	c.fronts[0] = f
	after := awaitThrottled(t, f, 2, 4)
	if before[0].Task+before[1].Task != 1 || after[0].Attempt+after[1].Attempt != before[0].Attempt+before[1].Attempt {
		t.Errorf("before the restart these ran: %+v; after it: %+v", before, after)
	}
	gate := func(task int) string { return filepath.Join(gates, strconv.Itoa(task)) }
	open(t, gate(0))
	awaitThrottled(t, f, 2, 3)
	for task := range 6 {
		open(t, gate(task))
	}
	if s := c.done(f, "gated"); s.Completed != 6 {
		t.Errorf("%+v", s)
	}
}

// awaitThrottled waits until that many tasks of the job "gated" run and that many wait for them to
// end, and returns those that run.
func awaitThrottled(t *testing.T, f *frontOf, running, throttled int) (tasks []api.TaskStatus) {
	t.Helper()
	daemontest.Await(t, strconv.Itoa(running)+" tasks run", func() bool {
		e, err := f.Explain(t.Context(), "gated")
		if err != nil {
			return false // it has just started
		}
		tasks = e.Tasks
		return e.Status.Running == running && len(tasks) == running && strings.Contains(strings.Join(e.Why, " "), strconv.Itoa(throttled)+" of its tasks wait for others of the job to end: at most 2 of them")
	})
	return tasks
}
