package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func small() *Description {
	return &Description{
		Trace: "gen:ec2,jobs=200", Policies: []string{"pigeon"}, Groups: []int{8, 4}, Frontends: 3,
		Reserved: 0.1, Cutoff: time.Second, Seed: 1, Seeds: 1,
	}
}

func one(t *testing.T, d *Description) (*Run, *workload.Workload) {
	t.Helper()
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

func TestRefusals(t *testing.T) {
	for name, spoil := range map[string]func(*Description){
		"policies":  func(d *Description) { d.Policies = nil },
		"nonesuch":  func(d *Description) { d.Policies = []string{"nonesuch"} },
		"groups":    func(d *Description) { d.Groups = nil },
		"group 1":   func(d *Description) { d.Groups = []int{8, 0} },
		"frontends": func(d *Description) { d.Frontends = 0 },
		"reserved":  func(d *Description) { d.Reserved = -1 },
		"cutoff":    func(d *Description) { d.Cutoff = 0 },
		"weight":    func(d *Description) { d.Weight = -1 },
		"seeds":     func(d *Description) { d.Seeds = 0 },
		"absent.tr": func(d *Description) { d.Trace = "absent.tr" },
		"speed":     func(d *Description) { d.Workload.Speedup = -1 },
		"load":      func(d *Description) { d.Workload.Load = -1 },
		"wrong ":    func(d *Description) { d.Workload.WrongClass = 2 },
	} {
		d := small()
		spoil(d)
		if _, err := d.Runs(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestNearestTrace: a trace that is not there names the file it may have meant.
func TestNearestTrace(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ngo_90.tr", "goog_sub.tr"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("0 1 1 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"ngo_9.tr": "ngo_90.tr", "goog_sup.tr": "goog_sub.tr"} {
		d := small()
		d.Trace = filepath.Join(dir, path)
		if _, err := d.Runs(); err == nil || !strings.Contains(err.Error(), "did you mean \""+filepath.Join(dir, want)+"\"?") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{filepath.Join("no folder", "x.tr"), "nothing-like-them"} {
		d := small()
		d.Trace = filepath.Join(dir, path)
		if _, err := d.Runs(); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestGeneratorsLoadIsThisCluster: gen:ec2 has load 0.9 on the workers there are.
func TestGeneratorsLoadIsThisCluster(t *testing.T) {
	_, w := one(t, small())
	if load := w.Load(12); load < 0.899 || load > 0.901 {
		t.Errorf("load %v on 12 workers", load)
	}
	for _, own := range []string{",workers=24", ", workers = 24"} {
		d := small()
		d.Trace += own
		if _, w := one(t, d); w.Load(24) < 0.899 || w.Load(24) > 0.901 {
			t.Errorf("%s: load %v on 24 workers", own, w.Load(24))
		}
	}
}

func TestRunsAreSeedsOfEachPolicy(t *testing.T) {
	d := small()
	d.Seed, d.Seeds = 7, 3
	d.Policies = []string{"pigeon", "pigeon"}
	d.Workload.Resample = 50
	runs, err := d.Runs()
	if err != nil {
		t.Fatal(err)
	}
	var seeds []uint64
	for i := range runs {
		seeds = append(seeds, runs[i].Seed)
	}
	if !slices.Equal(seeds, []uint64{7, 8, 9, 7, 8, 9}) {
		t.Errorf("seeds %v", seeds)
	}
	a, errA := runs[0].Workload()
	b, errB := runs[1].Workload()
	if errA != nil || errB != nil || a.Jobs[1].Arrival == b.Jobs[1].Arrival {
		t.Errorf("two seeds drew the same arrivals, or failed: %v %v", errA, errB)
	}
}

// TestSpeedupLeavesResultsAlone: a run in a tenth of the time gives the same
// result when its times are multiplied back, except for delays that do not shrink.
func TestSpeedupLeavesResultsAlone(t *testing.T) {
	d := small()
	plain, w := one(t, d)
	out, err := plain.Simulate(t.Context(), w, SimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := plain.Result(w, out)
	quick := small()
	quick.Workload.Speedup = 10
	run, w := one(t, quick)
	if run.Params.Cutoff != plain.Params.Cutoff/10 {
		t.Errorf("cutoff %v as run", run.Params.Cutoff)
	}
	if out, err = run.Simulate(t.Context(), w, SimOptions{}); err != nil {
		t.Fatal(err)
	}
	got := run.Result(w, out)
	for _, p := range [][2]measure.Number{
		{got.Short.Completion.P50, want.Short.Completion.P50}, {got.Long.Completion.P90, want.Long.Completion.P90},
		{got.Long.Queueing.P90, want.Long.Queueing.P90}, {got.Makespan, want.Makespan}, {got.Load, want.Load},
		{got.Utilization, want.Utilization},
	} {
		if diff := float64(p[0] - p[1]); diff > 1e-6*float64(p[1])+1e-7 || -diff > 1e-6*float64(p[1])+1e-7 {
			t.Errorf("sped up %v, plain %v", p[0], p[1])
		}
	}
	if got.Long.Jobs != want.Long.Jobs || got.Completed != 200 {
		t.Errorf("%d long jobs, %d completed", got.Long.Jobs, got.Completed)
	}
}

// TestHistoryHoldsEveryLife: each task is launched, started, ended and reported
// once, and each job submitted and completed.
func TestHistoryHoldsEveryLife(t *testing.T) {
	run, w := one(t, small())
	var text, actions bytes.Buffer
	if _, err := run.Simulate(t.Context(), w, SimOptions{Delay: time.Millisecond, History: &text, Actions: &actions}); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for r := measure.NewHistoryReader(&text, "history"); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		counts[e.Event]++
	}
	for event, want := range map[string]int{
		measure.Submitted: 200, measure.Completed: 200, measure.Launched: w.Tasks(), measure.Started: w.Tasks(), measure.Ended: w.Tasks(), measure.Reported: w.Tasks(),
	} {
		if counts[event] != want {
			t.Errorf("%d events %q, want %d", counts[event], event, want)
		}
	}
	if !strings.Contains(actions.String(), "Send to") {
		t.Error("no actions were written")
	}
}

// TestJSONKeys: the keys that scripts rely on (docs/json.md, pigeon sim).
func TestJSONKeys(t *testing.T) {
	run, w := one(t, small())
	out, err := run.Simulate(t.Context(), w, SimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(run.Result(w, out))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for key := range strings.FieldsSeq("mode policy trace seed workers groups jobs tasks load short long all completed failed attempts " +
		"messages_per_task suspensions_per_task utilization makespan wall events bound") {
		if got[key] == nil {
			t.Errorf("no %q in %s", key, text)
		}
	}
	if got["mode"] != "sim" || got["trace"] != "gen:ec2,jobs=200" {
		t.Errorf("%s", text)
	}
}

func TestCompletionsByTrueClass(t *testing.T) {
	d := small()
	d.Workload.WrongClass = 0.5
	run, w := one(t, d)
	out, err := run.Simulate(t.Context(), w, SimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out.Jobs[0].Ended = false // as in a run that was ended early
	short, long := run.Completions(w, out)
	wantLong := 0
	for i := 1; i < len(w.Jobs); i++ {
		if w.Jobs[i].TrueLong {
			wantLong++
		}
	}
	if len(long) != wantLong || len(short)+len(long) != 199 {
		t.Errorf("%d short and %d long, want %d long of 199", len(short), len(long), wantLong)
	}
}

// bench/README.md: "A failed job is counted, but is in no distribution", and neither is one that
// had not ended when the run was ended early: their tasks are not in that of queueing delays.
func TestQueueingIsOfCompletedJobs(t *testing.T) {
	run, w := one(t, small())
	out := NewOutcome(w)
	for i := range out.Queueing {
		out.Queueing[i] = 1e12
	}
	first := w.FirstTasks()[2]
	for i := range out.Queueing[:first] {
		out.Queueing[i] = 2e9 // those of jobs 0 and 1
	}
	out.Jobs[0] = Job{Ended: true, End: 9e9}
	out.Jobs[1] = Job{Ended: true, End: 9e9}
	out.Jobs[2] = Job{Ended: true, End: 9e9, Failed: true}
	r := run.Result(w, out)
	if r.All.Jobs != 2 || r.Failed != 1 || r.All.Queueing.Mean != 2 || r.All.Queueing.P99 != 2 {
		t.Errorf("%d jobs completed and %d failed, queueing %+v; want 2, 1, and the 2 s of tasks of the 2", r.All.Jobs, r.Failed, r.All.Queueing)
	}
}

func TestInParallelKeepsOrderAndStopsAtErrors(t *testing.T) {
	var got []int
	double := func(_ context.Context, i int) (int, error) { return 2 * i, nil }
	keep := func(_ int, v int) error { got = append(got, v); return nil }
	if err := InParallel(t.Context(), 20, double, keep); err != nil || len(got) != 20 || !slices.IsSorted(got) {
		t.Errorf("%v %v", got, err)
	}
	bad := errors.New("bad")
	fails := func(_ context.Context, i int) (int, error) {
		if i == 3 {
			return 0, bad
		}
		return i, nil
	}
	got = nil
	if err := InParallel(t.Context(), 20, fails, keep); !errors.Is(err, bad) || !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("%v %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := InParallel(ctx, 20, double, keep); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
