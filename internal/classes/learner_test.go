package classes_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const ms = sched.Millisecond

// settings has a cutoff of a second.
var settings = classes.Settings{Cutoff: sched.Second}

// job is an undeclared job of alice.
func job(work string) *classes.Job { return &classes.Job{Owner: "team/alice", Work: work} }

// run makes a learner decide a job and learn from its tasks, which end now.
func run(l *classes.Learner, now sched.Time, j *classes.Job, tasks ...sched.Time) classes.Verdict {
	d := l.Decide(now, j)
	r := l.Begin(j, &d)
	for _, ran := range tasks {
		l.TaskEnded(now, &r, ran, true, d.Class == sched.Short)
	}
	l.JobEnded(&r)
	return d
}

func repeated(n int, t sched.Time) []sched.Time { return slices.Repeat([]sched.Time{t}, n) }

func TestVerdicts(t *testing.T) {
	declared := func(c sched.Class, estimate sched.Time) *classes.Job {
		return &classes.Job{Owner: "team/alice", Work: "train", Declared: true, Class: c, Why: "declared by the submitter", Estimate: estimate}
	}
	for _, c := range []struct {
		name     string
		settings classes.Settings
		earlier  [][]sched.Time // tasks of earlier jobs of the work
		job      *classes.Job
		want     classes.Verdict
		marks    sched.Marks
	}{
		{"nothing is known", settings, nil, job("train"),
			classes.Verdict{Origin: classes.Undeclared, Reason: `nothing is known yet of "train" of owner "team/alice"`}, sched.Undeclared},
		{"by default long, nothing is known", classes.Settings{Cutoff: sched.Second, Default: sched.Long}, nil, job("train"),
			classes.Verdict{Class: sched.Long, Origin: classes.Undeclared}, 0},
		{"no name", settings, nil, job(""), classes.Verdict{Origin: classes.Undeclared, Reason: "without a name"}, sched.Undeclared},
		{"one long job", settings, [][]sched.Time{{3 * sched.Second}}, job("train"),
			classes.Verdict{Class: sched.Long, Estimate: 3 * sched.Second, Origin: classes.Learned, Reason: `estimate 3 s is above the cutoff 1 s, learned from one job of "train" of owner "team/alice", in which a task took 3 s on average`}, 0},
		{"the median of jobs, not of tasks", settings, [][]sched.Time{repeated(100, 5*sched.Second), {200 * ms}, {300 * ms}}, job("train"),
			classes.Verdict{Estimate: 300 * ms, Origin: classes.Learned, Reason: "the last 3 jobs of"}, 0},
		{"of two the lower one", settings, [][]sched.Time{{5 * sched.Second}, {200 * ms}}, job("train"),
			classes.Verdict{Estimate: 200 * ms, Origin: classes.Learned, Reason: "(from 0.2 s to 5 s)"}, 0},
		{"the mean of a job", settings, [][]sched.Time{{100 * ms, 100 * ms, 100 * ms, 9700 * ms}}, job("train"),
			classes.Verdict{Class: sched.Long, Estimate: 2500 * ms, Origin: classes.Learned, Reason: "2.5 s"}, 0},
		{"another work", settings, [][]sched.Time{{3 * sched.Second}}, job("test"), classes.Verdict{Origin: classes.Undeclared}, sched.Undeclared},
		{"another owner", settings, [][]sched.Time{{3 * sched.Second}}, &classes.Job{Owner: "team", Work: "train"}, classes.Verdict{Origin: classes.Undeclared}, sched.Undeclared},
		{"the last jobs count", settings, slices.Concat(slices.Repeat([][]sched.Time{{5 * sched.Second}}, 20), slices.Repeat([][]sched.Time{{100 * ms}}, 9)), job("train"),
			classes.Verdict{Estimate: 100 * ms, Origin: classes.Learned, Reason: "the last 16 jobs"}, 0},
		{"declared is believed", settings, [][]sched.Time{{3 * sched.Second}}, declared(sched.Short, 0), classes.Verdict{Reason: "declared by the submitter"}, 0},
		{"a declared class has a learned estimate", settings, [][]sched.Time{{3 * sched.Second}}, declared(sched.Long, 0),
			classes.Verdict{Class: sched.Long, Estimate: 3 * sched.Second, Reason: "declared by the submitter; estimate 3 s, learned from one job"}, 0},
		{"a declared estimate", settings, [][]sched.Time{{3 * sched.Second}}, declared(sched.Short, 20*ms), classes.Verdict{Estimate: 20 * ms, Reason: "declared"}, 0},
		{"a declared estimate of the learned class", settings, [][]sched.Time{{3 * sched.Second}}, declared(sched.Long, 20*sched.Second),
			classes.Verdict{Class: sched.Long, Estimate: 20 * sched.Second, Reason: "declared"}, 0},
		{"the setting declared", classes.Settings{Cutoff: sched.Second, Declared: true}, [][]sched.Time{{3 * sched.Second}}, job("train"),
			classes.Verdict{Origin: classes.Defaulted, Reason: "default: neither class nor estimate was given"}, 0},
	} {
		l := classes.New(c.settings)
		for i, tasks := range c.earlier {
			run(l, sched.Time(i)*sched.Second, job("train"), tasks...)
		}
		got := l.Decide(100*sched.Second, c.job)
		marks, reason := got.Marks(), got.Reason
		if !strings.Contains(reason, c.want.Reason) {
			t.Errorf("%s: the reason is %q, want %q in it", c.name, reason, c.want.Reason)
		}
		if got.Reason, c.want.Reason = "", ""; got != c.want || marks != c.marks {
			t.Errorf("%s: %+v with marks %s, want %+v with %s", c.name, got, marks, c.want, c.marks)
		}
	}
}

// A job counts from its third task on, or from its end.
func TestWhenAJobCounts(t *testing.T) {
	l := classes.New(settings)
	d := l.Decide(0, job("w"))
	r := l.Begin(job("w"), &d)
	for i, ran := range []sched.Time{sched.Second, 2 * sched.Second, 6 * sched.Second, 11 * sched.Second} {
		want, how := sched.Time(0), classes.Undeclared
		if i > 2 {
			want, how = 3*sched.Second, classes.Learned
		}
		if d := l.Decide(0, job("w")); d.Origin != how || d.Estimate != want {
			t.Errorf("after %d tasks: %+v", i, d)
		}
		l.TaskEnded(0, &r, ran, true, true)
	}
	if d := l.Decide(0, job("w")); d.Estimate != 5*sched.Second {
		t.Errorf("its later tasks do not count: %+v", d)
	}
	l.JobEnded(&r)
	if d := l.Decide(0, job("w")); !strings.Contains(d.Reason, "one job") {
		t.Errorf("it counts twice: %+v", d)
	}
	cancelled, failed := l.Begin(job("x"), &d), l.Begin(job("y"), &d)
	l.TaskEnded(0, &cancelled, sched.Second, true, true)
	l.TaskEnded(0, &failed, sched.Second, false, true)
	l.JobEnded(&failed)
	for _, work := range []string{"x", "y"} {
		if d := l.Decide(0, job(work)); d.Origin != classes.Undeclared {
			t.Errorf("%s: %+v", work, d)
		}
	}
	run(l, 0, job("y"), sched.Second)
	if d := l.Decide(0, job("y")); !strings.Contains(d.Reason, "; 1 task of this work has failed, which does not count") {
		t.Errorf("one failure: %q", d.Reason)
	}
	again := l.Begin(job("y"), &d)
	l.TaskEnded(0, &again, sched.Second, false, true)
	l.JobEnded(&again)
	if d := l.Decide(0, job("y")); !strings.Contains(d.Reason, "; 2 tasks of this work have failed, which do not count") {
		t.Errorf("two failures: %q", d.Reason)
	}
}

// The estimate is the median of the means of the last jobs, whatever the jobs are.
func TestEstimateIsTheMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := classes.New(settings)
		var means []sched.Time
		for range rapid.IntRange(1, 60).Draw(t, "jobs") {
			mean := sched.Time(rapid.Int64Range(0, 20_000).Draw(t, "mean")) * ms
			run(l, 0, job("w"), repeated(rapid.IntRange(1, 9).Draw(t, "tasks"), mean)...)
			means = append(means, mean)
			last := slices.Clone(means[max(0, len(means)-classes.Samples):])
			slices.Sort(last)
			want := last[(len(last)-1)/2]
			d := l.Decide(0, job("w"))
			if d.Origin != classes.Learned || d.Estimate != want || (d.Class == sched.Short) != (want <= sched.Second) {
				t.Fatalf("%+v after means %v, want %d", d, means, want)
			}
		}
	})
}

// The known works are those used last, and their number is bounded.
func TestWorksAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 5
		l := classes.New(classes.Settings{Cutoff: sched.Second, MaxWorks: most})
		var last []string // used, the newest at the end
		for range 50 {
			name := rapid.StringMatching("[a-i]").Draw(t, "work")
			known := slices.Contains(last, name)
			if d := run(l, 0, job(name), ms); (d.Origin == classes.Learned) != known {
				t.Fatalf("%s with %v known: %+v", name, last, d)
			}
			last = append(slices.DeleteFunc(last, func(n string) bool { return n == name }), name)
			last = last[max(0, len(last)-most):]
			if l.Works() != len(last) {
				t.Fatalf("%d works are known, want %v", l.Works(), last)
			}
		}
	})
}

// A job whose work was forgotten meanwhile is entered again.
func TestForgottenWhileItRuns(t *testing.T) {
	l := classes.New(classes.Settings{Cutoff: sched.Second, MaxWorks: 1})
	d := l.Decide(0, job("a"))
	r := l.Begin(job("a"), &d)
	for range 3 {
		l.TaskEnded(0, &r, ms, true, true)
	}
	run(l, 0, job("b"), ms)
	if d := l.Decide(0, job("a")); d.Origin != classes.Undeclared {
		t.Fatalf("%+v", d)
	}
	l.JobEnded(&r)
	if d := l.Decide(0, job("a")); d.Origin != classes.Learned || l.Works() != 1 {
		t.Errorf("%+v, %d works", d, l.Works())
	}
}

// Tasks of a job that still runs when it is not among the last ones any more change nothing: its
// place belongs to a later job.
func TestJobThatLastsLonger(t *testing.T) {
	l := classes.New(settings)
	d := l.Decide(0, job("w"))
	r := l.Begin(job("w"), &d)
	for range 3 {
		l.TaskEnded(0, &r, sched.Second, true, true)
	}
	for range classes.Samples {
		run(l, 0, job("w"), 100*ms)
	}
	l.TaskEnded(0, &r, 1000*sched.Second, true, true)
	l.JobEnded(&r)
	if d := l.Decide(0, job("w")); !strings.Contains(d.Reason, "(from 0.1 s to 0.1 s)") {
		t.Errorf("the reason is %q", d.Reason)
	}
}
