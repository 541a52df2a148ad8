package classes_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// began is when the frontends of these tests start, since 1970.
const began = 20_000 * 24 * 60 * minute

// resumed returns a learner that continues from what another one has counted.
func resumed(t interface{ Fatal(...any) }, l *classes.Learner, s classes.Settings, saved, loaded sched.Time) *classes.Learner {
	next := classes.New(s)
	if err := next.LoadOverruns(loaded, l.SaveOverruns(saved)); err != nil {
		t.Fatal(err)
	}
	return next
}

// What was saved gives the same decisions at every later instant, whatever tasks follow. No owner
// is forgotten here: one of whom nothing counts is not saved, which leaves room for another.
func TestOverrunsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounded := classes.Settings{Cutoff: sched.Second, MaxOwners: 6}
		l := classes.New(bounded)
		now := began
		owner := rapid.StringMatching("[a-f]")
		step := func(learners ...*classes.Learner) {
			now += sched.Time(rapid.Int64Range(0, int64(3*minute)).Draw(t, "pause"))
			name, tasks := owner.Draw(t, "owner"), rapid.IntRange(0, 30).Draw(t, "tasks")
			ran := sched.Time(rapid.Int64Range(0, 3000).Draw(t, "ran")) * ms
			for _, l := range learners {
				run(l, now, short(name), repeated(tasks, ran)...)
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "before") {
			step(l)
		}
		next := resumed(t, l, bounded, now, now)
		if a, b := l.SaveOverruns(now), next.SaveOverruns(now); string(a) != string(b) || next.OverrunChanges() != 0 {
			t.Fatalf("saved again: %q, want %q", b, a)
		}
		for range rapid.IntRange(1, 30).Draw(t, "after") {
			step(next, l)
			for c := 'a'; c <= 'f'; c++ {
				if a, b := l.Decide(now, short(string(c))), next.Decide(now, short(string(c))); a != b {
					t.Fatalf("after loading %+v, want %+v", b, a)
				}
			}
		}
	})
}

// The window goes on while no frontend runs, and a clock that was set back makes nothing
// count for longer than ten minutes.
func TestOverrunsAgeWhileNoFrontendRuns(t *testing.T) {
	l := classes.New(settings)
	run(l, began, short("a"), repeated(20, 3*sched.Second)...)
	for _, c := range []struct {
		name          string
		loaded, asked sched.Time
		want          classes.Origin
	}{
		{"at once", began, began, classes.Overruled},
		{"after 9 minutes", began + 9*minute, began + 9*minute, classes.Overruled},
		{"after 10 minutes", began + 10*minute, began + 10*minute, classes.Declared},
		{"9 minutes after the clock was set back by an hour", began - 60*minute, began - 51*minute, classes.Overruled},
		{"10 minutes after the clock was set back by an hour", began - 60*minute, began - 50*minute, classes.Declared},
	} {
		if d := resumed(t, l, settings, began, c.loaded).Decide(c.asked, short("a")); d.Origin != c.want {
			t.Errorf("%s: %+v, want %s", c.name, d, c.want)
		}
	}
}

// A job that was restored before the file was read counts on for its owner.
func TestOverrunsAreAddedToThoseOfRestoredJobs(t *testing.T) {
	l := classes.New(settings)
	run(l, began, short("a"), repeated(10, 3*sched.Second)...)
	next := classes.New(settings)
	d := next.Decide(began, short("a"))
	r := next.Begin(short("a"), &d)
	for range 5 {
		next.TaskEnded(began, &r, 3*sched.Second, true, true)
	}
	if err := next.LoadOverruns(began, l.SaveOverruns(began)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		next.TaskEnded(began, &r, 3*sched.Second, true, true)
	}
	if d := next.Decide(began, short("a")); !strings.Contains(d.Reason, "40 of 60 short slot-seconds") {
		t.Errorf("%+v", d)
	}
}

// Overruns of another cutoff say nothing.
func TestOverrunsOfAnotherCutoff(t *testing.T) {
	l := classes.New(settings)
	run(l, began, short("a"), repeated(20, 3*sched.Second)...)
	if d := resumed(t, l, classes.Settings{Cutoff: 2 * sched.Second}, began, began).Decide(began, short("a")); d.Origin != classes.Declared {
		t.Errorf("%+v", d)
	}
}

// A damaged file is refused, wherever the damage is, and changes nothing.
func TestDamagedOverruns(t *testing.T) {
	l := classes.New(settings)
	for i := range 3 {
		run(l, began, short(fmt.Sprint("team/", i)), repeated(20, 3*sched.Second)...)
	}
	saved := l.SaveOverruns(began)
	for i := range saved {
		for what, damaged := range map[string][]byte{
			"cut short":      saved[:i],
			"a wrong bit":    append(append(append([]byte{}, saved[:i]...), saved[i]^4), saved[i+1:]...),
			"a byte missing": append(append([]byte{}, saved[:i]...), saved[i+1:]...),
		} {
			if err := l.LoadOverruns(began, damaged); err == nil || string(l.SaveOverruns(began)) != string(saved) {
				t.Fatalf("%s at %d: %v", what, i, err)
			}
		}
	}
	if err := l.Load(saved); err == nil || !strings.Contains(err.Error(), "does not begin") {
		t.Errorf("as what is known of works: %v", err)
	}
}

// A file of more owners than are counted loses the least recently used ones.
func TestLoadedOverrunsAreBounded(t *testing.T) {
	l := classes.New(settings)
	for i := range 9 {
		run(l, began, short(fmt.Sprint(i)), repeated(20, 3*sched.Second)...)
	}
	small := resumed(t, l, classes.Settings{Cutoff: sched.Second, MaxOwners: 2}, began, began)
	for i, want := range map[int]classes.Origin{6: classes.Declared, 7: classes.Overruled, 8: classes.Overruled} {
		if d := small.Decide(began, short(fmt.Sprint(i))); d.Origin != want {
			t.Errorf("%d: %+v, want %s", i, d, want)
		}
	}
}

// Saving what was counted of as many owners as there can be, on the owner goroutine once a
// minute; and what that occupies.
func BenchmarkSaveOverruns(b *testing.B) {
	l := classes.New(settings)
	for i := range classes.DefaultMaxOwners {
		for m := range sched.Time(10) {
			run(l, began+m*minute, short(fmt.Sprint("team/", i)), repeated(20, 3*sched.Second+sched.Time(i))...)
		}
	}
	var saved []byte
	for b.Loop() {
		saved = l.SaveOverruns(began + 9*minute)
	}
	b.ReportMetric(float64(len(saved))/classes.DefaultMaxOwners, "file-bytes/owner")
}
