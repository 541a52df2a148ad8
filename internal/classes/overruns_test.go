package classes_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const minute = 60 * sched.Second

// short is a job that is declared short, of a work of its own.
func short(owner string) *classes.Job {
	return &classes.Job{Owner: owner, Declared: true, Class: sched.Short, Why: "declared by the submitter"}
}

// Twenty tasks of which more than a tenth of the time was past the cutoff make the next
// jobs of their owner long, until the window has passed or honest tasks outweigh it.
func TestOverruns(t *testing.T) {
	l := classes.New(settings)
	if run(l, 0, short("a"), repeated(19, 3*sched.Second)...); l.Decide(0, short("a")).Origin == classes.Overruled {
		t.Error("19 tasks are enough")
	}
	run(l, 0, short("a"), 3*sched.Second)
	d := l.Decide(0, short("a"))
	want := `queued as long: 40 of 60 short slot-seconds of owner "a" in the last 10 min were past the cutoff of 1 s (66.7 %; limit 10 %), in 20 tasks; it would be short: declared by the submitter`
	if d.Class != sched.Long || d.Origin != classes.Overruled || d.Reason != want || d.Marks() != 0 {
		t.Errorf("%+v, want %q", d, want)
	}
	if d := l.Decide(0, &classes.Job{Owner: "a", Work: "unknown"}); d.Origin != classes.Overruled {
		t.Errorf("an unknown job: %+v", d)
	}
	if d := l.Decide(0, &classes.Job{Owner: "a", Declared: true, Class: sched.Short, Estimate: ms}); d.Estimate != 0 {
		t.Errorf("its estimate counts: %+v", d)
	}
	for _, j := range []*classes.Job{short("b"), short("a/b"), short("")} {
		if d := l.Decide(0, j); d.Origin != classes.Declared {
			t.Errorf("owner %q: %+v", j.Owner, d)
		}
	}
	if d := l.Decide(9*minute, short("a")); d.Origin != classes.Overruled {
		t.Errorf("after 9 minutes: %+v", d)
	}
	if d := l.Decide(10*minute, short("a")); d.Origin != classes.Declared {
		t.Errorf("after 10 minutes: %+v", d)
	}
}

// Jobs that were queued as long count as they would have run, so an owner recovers by honest
// tasks, and not merely because the window passes while it continues.
func TestOverruledJobsCount(t *testing.T) {
	l := classes.New(settings)
	lie := func(now sched.Time) {
		j := short("a")
		d := l.Decide(now, j)
		r := l.Begin(j, &d)
		for range 20 {
			l.TaskEnded(now, &r, 3*sched.Second, true, d.Class == sched.Short)
		}
	}
	for i := range sched.Time(30) {
		lie(i * minute)
		if d := l.Decide(i*minute, short("a")); d.Origin != classes.Overruled {
			t.Fatalf("in minute %d: %+v", i, d)
		}
	}
	n := 0
	for l.Decide(29*minute, short("a")).Origin == classes.Overruled {
		j := short("a")
		d := l.Decide(29*minute, j)
		r := l.Begin(j, &d)
		l.TaskEnded(29*minute, &r, sched.Second/2, true, d.Class == sched.Short)
		n++
	}
	// 10 x 20 tasks of 3 s: 400 s of 600 s are past the cutoff; with n x 0.5 s more these
	// are a tenth when 4000 = 600 + 0.5 n.
	if n != 6800 {
		t.Errorf("it took %d honest tasks", n)
	}
}

// A job whose work is learned to be short stays short, and one learned to be long has its
// estimate.
func TestLearnedWorksOfOverruledOwners(t *testing.T) {
	for _, declared := range []bool{false, true} {
		l := classes.New(classes.Settings{Cutoff: sched.Second, Declared: declared})
		named := func(work string) *classes.Job {
			j := short("a")
			j.Work = work
			return j
		}
		run(l, 0, named("brief"), repeated(3, 100*ms)...)
		run(l, 0, named("slow"), repeated(30, 5*sched.Second)...)
		if d := l.Decide(0, named("brief")); d.Class != sched.Short || d.Origin != classes.Declared {
			t.Errorf("setting declared %v: %+v", declared, d)
		}
		if d := l.Decide(0, named("slow")); d.Class != sched.Long || d.Origin != classes.Overruled || d.Estimate != 5*sched.Second {
			t.Errorf("setting declared %v: %+v", declared, d)
		}
	}
}

// Tasks that did not run as short, and those of jobs whose class was unknown, count for no
// overruns.
func TestWhatDoesNotCount(t *testing.T) {
	l := classes.New(settings)
	run(l, 0, &classes.Job{Owner: "a", Declared: true, Class: sched.Long}, repeated(30, 9*sched.Second)...)
	run(l, 0, &classes.Job{Owner: "a"}, repeated(30, 9*sched.Second)...)
	j := short("a")
	d := l.Decide(0, j)
	r := l.Begin(j, &d)
	for range 30 {
		l.TaskEnded(0, &r, 9*sched.Second, true, false)
	}
	if d := l.Decide(0, short("a")); d.Origin != classes.Declared {
		t.Errorf("%+v", d)
	}
	run(l, 0, short(""), repeated(30, 9*sched.Second)...)
	if d := l.Decide(0, short("")); d.Origin != classes.Declared {
		t.Errorf("nobody in particular: %+v", d)
	}
	off := classes.New(classes.Settings{Cutoff: sched.Second, MaxOverrun: 1})
	run(off, 0, short("a"), repeated(30, 9*sched.Second)...)
	if d := off.Decide(0, short("a")); d.Origin != classes.Declared {
		t.Errorf("with the limit off: %+v", d)
	}
}

// The window is the sum of what ended in the last nine to ten minutes, against a list of all
// tasks.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := classes.New(settings)
		type task struct{ at, ran sched.Time }
		var all []task
		now := sched.Time(0)
		for range 40 {
			now += sched.Time(rapid.Int64Range(0, 200).Draw(t, "later")) * sched.Second
			n := rapid.IntRange(1, 9).Draw(t, "tasks")
			ran := sched.Time(rapid.Int64Range(0, 1500).Draw(t, "ran")) * ms
			j := short("a")
			d := l.Decide(now, j)
			r := l.Begin(j, &d)
			for range n {
				l.TaskEnded(now, &r, ran, true, true)
				all = append(all, task{now, ran})
			}
			tasks, sum, over := 0, sched.Time(0), sched.Time(0)
			for _, x := range all {
				if now/minute-x.at/minute < 10 {
					tasks, sum, over = tasks+1, sum+x.ran, over+max(0, x.ran-sched.Second)
				}
			}
			want := tasks >= classes.MinTasks && 10*over > sum
			if d := l.Decide(now, short("a")); (d.Origin == classes.Overruled) != want {
				t.Fatalf("%d tasks of %d ns, %d past the cutoff: %+v", tasks, sum, over, d)
			}
		}
	})
}

// However many owners there are, only those used last are kept.
func TestOwnersAreBounded(t *testing.T) {
	l := classes.New(classes.Settings{Cutoff: sched.Second, MaxOwners: 3})
	for _, owner := range []string{"a", "b", "c"} {
		run(l, 0, short(owner), repeated(20, 9*sched.Second)...)
	}
	for i := range 2 {
		run(l, 0, short("a"), ms)
		run(l, 0, short(fmt.Sprint("new", i)), ms)
	}
	for owner, want := range map[string]classes.Origin{"a": classes.Overruled, "b": classes.Declared, "c": classes.Declared} {
		if d := l.Decide(0, short(owner)); d.Origin != want {
			t.Errorf("%s: %+v", owner, d)
		}
	}
	if d := l.Decide(0, &classes.Job{Owner: "a"}); !strings.Contains(d.Reason, "without a name") {
		t.Errorf("%+v", d)
	}
}
