package frontend_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/apptest"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
)

// BenchmarkGrant measures a grant: the application requests it, frontend,
// master, node monitor, executor, the application binds a piece of work, which
// takes no time, and the slot is free again.
func BenchmarkGrant(b *testing.B) {
	w := newWorld(b)
	w.master()
	w.node(0, 2, small(100))
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	daemontest.Await(b, "it runs", func() bool { return len(d.Pids()) == 1 })
	i := 0
	for b.Loop() {
		i++
		level := fmt.Sprint(i)
		done := d.Await(level)
		d.Add(level, "short", 1, 0)
		<-done
	}
	waits := d.Waits()
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-wait-us")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-wait-us")
}
