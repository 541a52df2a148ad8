package replay

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/cluster/clustertest"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// described returns the one run of a small experiment: 12 workers in 3 groups.
func described(t *testing.T, trace string, speedup float64) (*experiment.Run, *workload.Workload) {
	t.Helper()
	return under(t, "pigeon", trace, speedup)
}

// under is described for a policy.
func under(t *testing.T, policy, trace string, speedup float64) (*experiment.Run, *workload.Workload) {
	t.Helper()
	d := &experiment.Description{
		Trace: trace, Policies: []string{policy}, Groups: []int{4, 4, 4}, Frontends: 3,
		Reserved: 0.25, Cutoff: time.Second, Seed: 1, Seeds: 1,
	}
	d.Workload.Speedup = speedup
	runs, err := d.Runs()
	if err != nil {
		t.Fatal(err)
	}
	w, err := runs[0].Workload()
	if err != nil {
		t.Fatal(err)
	}
	return &runs[0], w
}

// tooLong is a ratio of live to simulated times that no busy machine explains, but a
// wrong unit or factor does.
const tooLong = 50

// TestLiveResemblesSimulated replays a workload and simulates it. The load is low
// and the tolerance wide, since other programs share the processors: it is to find
// times that are counted wrongly. How well both agree is measured by make ec2.
func TestLiveResemblesSimulated(t *testing.T) {
	t.Parallel()
	jobs := 80
	if testing.Short() {
		jobs = 30
	}
	run, w := described(t, fmt.Sprintf("gen:exp,jobs=%d,mean=1s,load=0.4", jobs), 8)
	m, err := OnNewCluster(t.Context(), run, w, ClusterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := run.Simulate(t.Context(), w, experiment.SimOptions{Delay: 500 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	live, sim := run.Result(w, m.Outcome), run.Result(w, simulated)
	if live.Mode != "live" || live.Completed != jobs || live.Failed != 0 || live.Partial || live.Attempts != int64(w.Tasks()) {
		t.Errorf("%d completed, %d failed, %d attempts of %d tasks", live.Completed, live.Failed, live.Attempts, w.Tasks())
	}
	for what, p := range map[string][2]measure.Number{
		"short p50": {live.Short.Completion.P50, sim.Short.Completion.P50}, "short p90": {live.Short.Completion.P90, sim.Short.Completion.P90},
		"long p50": {live.Long.Completion.P50, sim.Long.Completion.P50}, "long p90": {live.Long.Completion.P90, sim.Long.Completion.P90},
		"makespan": {live.Makespan, sim.Makespan}, "work": {live.Utilization * live.Makespan, sim.Utilization * sim.Makespan},
	} {
		if ratio := float64(p[0] / p[1]); math.IsNaN(ratio) || ratio < 0.7 || ratio > tooLong {
			t.Errorf("%s: %v live, %v simulated", what, p[0], p[1])
		}
	}
	if math.IsNaN(float64(live.All.Queueing.P50)) || live.Live == nil || live.CPUPerTask <= 0 || live.RSSMax <= 0 || live.TasksPerSecond <= 0 {
		t.Errorf("queueing %+v, live %+v", live.All.Queueing, live.Live)
	}
	if n := float64(live.MessagesPerTask); !(n >= 3 && n < 8) {
		t.Errorf("%v messages a task", n)
	}
	checkLives(t, w, m.Events)
}

// checkLives: every job is submitted and completed once, every task started and
// reported once, in this order.
func checkLives(t *testing.T, w *workload.Workload, events []measure.Event) {
	t.Helper()
	counts := map[string]int{}
	before := int64(math.MinInt64)
	for _, e := range events {
		counts[e.Event]++
		if e.Time < before {
			t.Fatalf("the history goes back in time at %+v", e)
		}
		before = e.Time
	}
	for event, want := range map[string]int{
		measure.Submitted: len(w.Jobs), measure.Completed: len(w.Jobs), measure.Started: w.Tasks(), measure.Reported: w.Tasks(),
	} {
		if counts[event] != want {
			t.Errorf("%d events %q, want %d", counts[event], event, want)
		}
	}
	var text bytes.Buffer
	if err := WriteHistory(&text, events); err != nil || strings.Count(text.String(), "\n") != len(events) {
		t.Errorf("written history: %v", err)
	}
}

// TestEndedEarlyIsPartial: jobs that had ended count, and the replay does not wait for the rest.
func TestEndedEarlyIsPartial(t *testing.T) {
	run, w := described(t, "gen:uniform,jobs=40,mean=1s,fanout=1", 10)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	m, err := OnNewCluster(ctx, run, w, ClusterOptions{Progress: func(p Progress) {
		if p.Ended > 5 {
			stop()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := run.Result(w, m.Outcome)
	if !r.Partial || r.Completed <= 5 || r.Completed >= 40 || r.Jobs != 40 {
		t.Errorf("partial %v, %d of %d completed", r.Partial, r.Completed, r.Jobs)
	}
}

// TestSecondReplayOnOneCluster: its jobs are other jobs, with the same draws.
func TestSecondReplayOnOneCluster(t *testing.T) {
	run, w := described(t, "gen:uniform,jobs=30,fanout=2", 50)
	c, err := cluster.Start(t.Context(), Spec(run))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for k := range 2 {
		got, err := Run(t.Context(), w, Options{Frontends: c.Frontends()})
		if err != nil {
			t.Fatal(err)
		}
		if r := run.Result(w, got.Outcome); r.Completed != 30 || r.Attempts != 60 || r.Short.Completion.P50 < 0.05 {
			t.Errorf("replay %d: %+v", k, r)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Run(t.Context(), w, Options{Frontends: c.Frontends()}); err == nil || !strings.Contains(err.Error(), "nothing was submitted") {
		t.Errorf("a cluster that was closed: %v", err)
	}
}

// bench/README.md: "makes half of the jobs declare neither class nor estimate". Of such a job a
// frontend must know nothing either, as in the simulation: only the names of --names are of works
// that recur.
func TestUndeclaredJobsAreUnknownWorks(t *testing.T) {
	w := &workload.Workload{Name: "four", Jobs: []workload.Job{
		{Line: 1, Undeclared: true, Durations: []int64{1}},
		{Line: 2, Undeclared: true, Durations: []int64{1}},
		{Line: 3, Undeclared: true, Name: "work-7", Durations: []int64{1}},
		{Line: 4, Estimate: 1, Durations: []int64{1}},
	}}
	learner := classes.New(classes.Settings{Cutoff: sched.Second})
	for _, pad := range []string{"", "0"} { // replayed twice on one cluster
		r := &replay{work: w, pad: pad}
		for i := range w.Jobs {
			q := r.request(i)
			if err := q.Validate(); err != nil || w.Jobs[i].Name != "" && q.Name != w.Jobs[i].Name {
				t.Errorf("job %d has the name %q, %v", i+1, q.Name, err)
			}
			asked := classes.Job{Work: q.Work(), Declared: q.Declares()}
			d := learner.Decide(0, &asked)
			if known := pad != "" && i == 2; w.Jobs[i].Undeclared && !known && d.Origin != classes.Undeclared {
				t.Errorf("job %d, named %q, is not undeclared: %s", i+1, q.Name, d.Reason)
			}
			run := learner.Begin(&asked, &d)
			learner.TaskEnded(0, &run, sched.Millisecond, true, true)
			learner.JobEnded(&run)
		}
	}
}

func TestHistoriesAreJoined(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	// The second frontend was restarted: its clock begins again.
	for path, text := range map[string]string{
		first: `{"time":0.5,"job":"-","event":"origin","where":"2026-01-02T03:04:04Z"}
{"time":2,"job":"001","event":"submitted","where":"f"}
{"time":2.5,"job":"001","task":0,"attempt":1,"event":"started","where":"w"}
{"time":3.5,"job":"001","task":0,"attempt":1,"event":"reported","where":"f"}
`, second: `{"time":0,"job":"-","event":"origin","where":"2026-01-02T03:04:05Z"}
{"time":0.25,"job":"7","event":"submitted","where":"f"}
{"time":0,"job":"-","event":"origin","where":"2026-01-02T03:04:08Z"}
{"time":1,"job":"7","task":1,"attempt":2,"event":"started","where":"w"}
{"time":1,"job":"8","task":1,"attempt":2,"event":"started","where":"w"}
`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	events, err := ReadHistories([]string{first, second}, began)
	if err != nil || len(events) != 6 || events[0].Job != "7" || events[0].Time != 25e7 || events[5].Time != 4e9 {
		t.Fatalf("%+v %v", events, err)
	}
	w := &workload.Workload{Jobs: []workload.Job{{Line: 1, Durations: []int64{8e8}}, {Line: 7, Durations: []int64{1, 1}}}}
	out := experiment.NewOutcome(w)
	Queueing(out, w, events)
	if q := out.Queueing; q[0] != 5e8 || q[1] != experiment.Unknown || q[2] != 4e9-25e7 || out.Facts.Busy != 8e8 { // it ran for no longer than its duration
		t.Errorf("%v, busy %d", q, out.Facts.Busy)
	}
	for text, want := range map[string]string{
		`{"time":2,"job":"1","event":"submitted","where":"f"}`:      "before its origin",
		`{"time":2,"job":"-","event":"origin","where":"yesterday"}`: "no instant",
		`{"time":`: "line 1",
	} {
		if err := os.WriteFile(first, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadHistories([]string{first}, began); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ReadHistories([]string{filepath.Join(dir, "absent")}, began); err == nil {
		t.Error("a file that is not there was read")
	}
}
