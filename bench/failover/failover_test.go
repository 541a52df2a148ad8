package failover

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
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

func TestRefusedOptions(t *testing.T) {
	for _, o := range []Options{{}, {Runs: 1001}, {Runs: 1, Kinds: []string{"flood"}}} {
		if o.Check() == nil {
			t.Errorf("%+v is not refused", o)
		}
	}
}
