package classes_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// full returns a learner with as many works as it keeps, each with as many jobs as it
// keeps.
func full() *classes.Learner {
	l := classes.New(settings)
	d := classes.Verdict{Origin: classes.Undeclared}
	for i := range classes.DefaultMaxWorks {
		j := &classes.Job{Owner: fmt.Sprint("team/", i%5000), Work: fmt.Sprint("work ", i)}
		for n := range classes.Samples {
			r := l.Begin(j, &d)
			l.TaskEnded(0, &r, sched.Time(n*i)*ms+sched.Time(i), true, false)
			l.JobEnded(&r)
		}
	}
	return l
}

// What each task adds to the frontend's work: its time is learned and its overrun counted.
func BenchmarkTaskEnded(b *testing.B) {
	l := full()
	j := &classes.Job{Owner: "team/1", Work: "work 1", Declared: true}
	d := l.Decide(0, j)
	r := l.Begin(j, &d)
	b.ReportAllocs()
	now := sched.Time(0)
	for b.Loop() {
		now += ms
		l.TaskEnded(now, &r, 5*ms, true, true)
	}
}

// What each job adds: the class is decided.
func BenchmarkDecide(b *testing.B) {
	l := full()
	j := job("work 1")
	run(l, 0, j, ms)
	b.ReportAllocs()
	for b.Loop() {
		d := l.Decide(0, j)
		if d.Origin != classes.Learned {
			b.Fatal(d)
		}
	}
}

// Saving everything that can be kept, as the owner goroutine does once a minute; and the
// bytes that it occupies.
func BenchmarkSave(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l := full()
	runtime.GC()
	runtime.ReadMemStats(&after)
	var saved []byte
	for b.Loop() {
		saved = l.Save()
	}
	b.ReportMetric(float64(len(saved))/float64(l.Works()), "file-bytes/work")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(l.Works()), "heap-bytes/work")
}
