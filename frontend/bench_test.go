package frontend_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// idle is a world of one frontend and three groups with eight slots each.
func idle(b *testing.B) (*world, *frontOf) {
	w := newWorld(b)
	for g := range 3 {
		w.master()
		for range 4 {
			w.node(g, 2)
		}
	}
	f := w.frontend()
	w.done(f, w.submit(f, sleeps("warm", 100, 0)))
	return w, f
}

// cpu returns the processor time of this process so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// One sleeping task of no length, from its submission until Wait returns, on an
// idle cluster: it includes two journal writes, the launch and the report.
func BenchmarkSubmitToWait(b *testing.B) {
	_, f := idle(b)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		id, _, err := f.Submit(b.Context(), sleeps("", 1, 0))
		if err != nil {
			b.Fatal(err)
		}
		if s, err := f.Wait(b.Context(), id, 30*time.Second); err != nil || s.State != api.StateCompleted {
			b.Fatalf("%+v, %v", s, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}

// Jobs of 100 tasks of no length with 64 in flight, all daemons and the load in
// this process.
func BenchmarkTasks(b *testing.B) {
	_, f := idle(b)
	const tasks, inFlight = 100, 64
	places := make(chan struct{}, inFlight)
	before := cpu(b)
	jobs := 0
	for b.Loop() {
		jobs++
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			id, _, err := f.Submit(b.Context(), sleeps("", tasks, 0))
			if err != nil {
				b.Error(err)
				return
			}
			if s, err := f.Wait(b.Context(), id, time.Minute); err != nil || s.Completed != tasks {
				b.Errorf("%+v, %v", s, err)
			}
		}()
	}
	for range inFlight {
		places <- struct{}{}
	}
	b.ReportMetric(float64(jobs*tasks)/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(jobs*tasks), "cpu-us/task")
}
