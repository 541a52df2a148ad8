package failover

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// starts returns events of starts at the given milliseconds.
func starts(ms ...int64) (events []history.Event) {
	for _, at := range ms {
		events = append(events, history.Event{Event: history.Start, Time: at * 1e6}, history.Event{Event: history.End, Time: at*1e6 + 1})
	}
	return events
}

// A pause is counted from the failure to the end of the longest gap that begins soon after it.
func TestPauseAfter(t *testing.T) {
	for name, c := range map[string]struct {
		events []history.Event
		want   pause
	}{
		"at once":               {starts(900, 950, 1700, 1730, 2010), pause{length: 700 * time.Millisecond, end: 700 * time.Millisecond}},
		"launches on their way": {starts(990, 1020, 1040, 2500, 2530), pause{length: 1460 * time.Millisecond, end: 1500 * time.Millisecond}},
		"a later gap":           {starts(1030, 1060, 2100, 9000), pause{length: 1040 * time.Millisecond, end: 1100 * time.Millisecond}},
		"none since":            {starts(1030, 1060, 1090), pause{length: 8910 * time.Millisecond, end: 9 * time.Second, lasts: true}},
		"only a later one":      {starts(1030, 1060, 2080), pause{length: 1020 * time.Millisecond, end: 1080 * time.Millisecond}},
	} {
		got, err := pauseAfter(c.events, 1000*1e6, 10000*1e6, beginWithin)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, want %+v; %v", name, got, c.want, err)
		}
	}
	if got, err := pauseAfter(starts(1030, 1060, 2100, 9000), 1000*1e6, 10000*1e6, time.Hour); err != nil || got.length != 6900*time.Millisecond {
		t.Errorf("at any time: %+v; %v", got, err)
	}
	if _, err := pauseAfter(starts(10, 20), 1000*1e6, 9000*1e6, beginWithin); err == nil || !strings.Contains(err.Error(), "8.0 s") {
		t.Errorf("no launch: %v", err)
	}
}

// A launch that never comes after a failure is no short pause: the measurement fails. Where launches
// may go on the time without one counts, whether it is over or not.
func TestTakeoverThatNeverComes(t *testing.T) {
	for _, k := range kinds {
		switch k.name {
		case MasterCrash, MasterPause, MasterPartition, MasterRestart:
			if got, err := k.pauseOf(starts(1005, 1030), 1000*1e6, 6000*1e6); err == nil || !strings.Contains(err.Error(), "for the last 5.0 s") {
				t.Errorf("%s: %v, %v", k.name, got, err)
			}
			if got, err := k.pauseOf(starts(1005, 1030, 2010, 5990), 1000*1e6, 6000*1e6); err != nil || got != 1010*time.Millisecond {
				t.Errorf("%s with a takeover: %v, %v", k.name, got, err)
			}
		case NATSLost:
			if got, err := k.pauseOf(starts(1005, 1030), 1000*1e6, 6000*1e6); err != nil || got != 4970*time.Millisecond {
				t.Errorf("%s: %v, %v", k.name, got, err)
			}
		}
	}
}

func TestPercentilesAndGoals(t *testing.T) {
	var pauses []time.Duration
	for i := range 20 {
		pauses = append(pauses, time.Duration(i+1)*100*time.Millisecond)
	}
	m := newMeasure(kinds[0], pauses)
	if m.P50 != 1 || m.P99 != 2 || m.Max != 2 || m.Goal50 != 0.6 || m.Goal99 != 1 {
		t.Errorf("%+v", m)
	}
	var page strings.Builder
	r := &Result{Runs: 20, Kinds: []Measure{m}, LeftOut: []string{"x: because"}}
	if err := r.Write(&page, "A machine.", "Today."); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| a leading master killed (SIGKILL) | the next launch | 1.000 | 2.000 | 2.000 | 0.6 / 1 | 20 |", "Left out: x: because."} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
}

// Attempts that began and did not end are lost; a task that began twice is counted once.
func TestRollingCounts(t *testing.T) {
	events := []history.Event{
		{Event: history.Start, Job: "a", Attempt: 1}, {Event: history.End, Job: "a", Attempt: 1},
		{Event: history.Start, Job: "b", Attempt: 1}, {Event: history.Start, Job: "b", Attempt: 2}, {Event: history.End, Job: "b", Attempt: 2},
	}
	r := &RollingResult{}
	r.attempts(events)
	r.count([]jobOutcome{{class: "short", state: api.StateCompleted}, {class: "long", state: api.StateFailed}, {class: "long"}})
	if r.Starts != 3 || r.Lost != 1 || r.Again != 1 || r.Jobs != 3 || r.Failed != 2 || len(r.Reasons) != 2 {
		t.Errorf("%+v", r)
	}
	if err := r.countSpark([]history.SparkJob{{State: "completed"}, {Application: 1, Job: 2, State: "failed"}, {}}, nil); err != nil || r.SparkJobs != 3 || r.SparkLost != 2 || r.Reasons[2] != `job 2 of Spark application 1, state "failed"` {
		t.Errorf("%v, %+v", err, r)
	}
	if p := shortP99([]jobOutcome{{class: "short", submitted: 1e9, ended: 3e9}, {class: "long", submitted: 1e9, ended: 9e9}, {class: "short", submitted: 1e9}}); p != 2 {
		t.Errorf("p99 %v", p)
	}
	if sizes := even(5, 3); len(sizes) != 3 || sizes[0]+sizes[1]+sizes[2] != 5 || sizes[2] == 0 {
		t.Errorf("%v", sizes)
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, o := range []Options{{}, {Runs: 1001}, {Runs: 1, Kinds: []string{"flood"}}} {
		if o.Check() == nil {
			t.Errorf("%+v is not refused", o)
		}
	}
	good := RollingOptions{Groups: 1, Nodes: 1, Slots: 1, Frontends: 1, Load: 0.5, Short: 1, Shortest: 1, Longest: 2, Quiet: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for i, set := range []func(*RollingOptions){
		func(o *RollingOptions) { o.Nodes = 0 }, func(o *RollingOptions) { o.Load = 1 }, func(o *RollingOptions) { o.Longest = 0 }, func(o *RollingOptions) { o.Quiet = 0 }, func(o *RollingOptions) { o.Spark = &chaos.Applications{Count: 9} },
	} {
		o := good
		if set(&o); o.Check() == nil {
			t.Errorf("%d is not refused", i)
		}
	}
}

// TestShortJobsOfNone: the completion time of no job is missing, not 0 s.
func TestShortJobsOfNone(t *testing.T) {
	if got := shortP99([]jobOutcome{{class: "long", submitted: 1, ended: 2e9}, {class: "short", submitted: 1}}); !math.IsNaN(float64(got)) {
		t.Errorf("%v s of no short job that ended", got)
	}
	if got := shortP99([]jobOutcome{{class: "short", submitted: 1e9, ended: 3e9}}); got != 2 {
		t.Errorf("%v s, want 2", got)
	}
}
