package slots

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// killer is a backend that records what it is asked to kill.
type killer struct {
	backend.Backend

	killed []sched.AttemptID
}

func (k *killer) Kill(id sched.AttemptID) { k.killed = append(k.killed, id) }

// testNode is the workers of a node, with what they post to its goroutine and the results that it keeps.
type testNode struct {
	*Workers
	posted   chan func()
	reporter *results.Reporter
}

// kept returns the results that are kept.
func (n *testNode) kept() (list []results.Result) {
	n.reporter.Each(0, func(_ sched.Addr, r *results.Result) bool {
		list = append(list, *r)
		return true
	})
	return list
}

// newWorkers returns the workers of a node with one slot, which has a backend of processes, and one frontend.
func newWorkers(t *testing.T, of string, b backend.Backend) *testNode {
	t.Helper()
	p, params, err := policy.Configure(of, sched.Params{Cutoff: sched.Second})
	if err != nil {
		t.Fatal(err)
	}
	n := &testNode{posted: make(chan func(), 10)}
	self, names, now := &wire.Sender{Ref: wire.Ref{Role: sched.Worker, Name: "n"}}, addrmap.New(), func() sched.Time { return 0 }
	names.Addr(wire.Ref{Role: sched.Distributor, Name: "f"})
	post := func(do func()) { n.posted <- do }
	metrics := telemetry.NewMetrics("test")
	unpublished := prometheus.NewCounter(prometheus.CounterOpts{Name: "unpublished"})
	n.reporter = results.New(results.Config{
		Self: self, Limit: 100, MaxBytes: 1 << 20, Heartbeat: sched.Second, Names: names, Now: now, Post: post,
		Log: slog.New(slog.DiscardHandler), Metrics: results.NewMetrics(metrics, unpublished),
	})
	n.Workers = New(Config{
		Self: self, Policy: p, Params: params, Master: sched.Addr{Role: sched.Master}, MasterRef: wire.Ref{Role: sched.Master, Name: "0"},
		Clock: runloop.NewClock(), Contact: func() (time.Time, int) { return time.Now(), 0 }, Now: now, Post: post,
		Backends: map[api.Backend]backend.Backend{api.BackendExec: b}, Results: n.reporter, Names: names, Changed: func() {},
		Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(metrics, unpublished),
	})
	n.Add()
	return n
}

// An attempt of an earlier process may end, or be unwanted, before the master has numbered its
// worker, under policies that number workers: the node restarted a moment ago. Its result is kept
// once the worker has a core, or when the node stops, and the slot is idle then.
func TestEndBeforeTheCore(t *testing.T) {
	id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 2}, Attempt: 10_001}
	frontend := sched.Addr{Role: sched.Distributor}
	for _, c := range []struct {
		name string
		next func(s *testNode) error
	}{
		{"the master answers", func(s *testNode) error { return s.Registered(3, 77, []int32{5}) }},
		{"the node stops", func(s *testNode) error { s.Stop(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &killer{}
			s := newWorkers(t, "fifo", b)
			launch := &wire.Item{To: wire.Ref{Role: sched.Worker, Name: "n"}, Msg: sched.Message{Kind: sched.Launch, Job: id.Job, First: id.Task, Attempt: id.Attempt, Distributor: frontend}}
			if _, _, err := s.Continue(&Adoption{Launch: launch, Backend: b, Ran: time.Second}); err != nil {
				t.Fatal(err)
			}
			s.Restore()
			s.KillJob(frontend, id.Job, time.Now().Add(time.Minute))
			if len(b.killed) != 1 || b.killed[0] != id {
				t.Errorf("killed %v, want %v", b.killed, id)
			}
			s.ended(s.workers.all[0], &backend.Result{ID: id, Outcome: sched.Done})
			if len(s.kept()) > 0 || s.Attempts() != 1 {
				t.Errorf("before: kept %+v, %d attempts", s.kept(), s.Attempts())
			}
			if err := c.next(s); err != nil {
				t.Fatal(err)
			}
			if kept := s.kept(); len(kept) != 1 || kept[0].ID != id || kept[0].Outcome != sched.Done || s.Attempts() != 0 || len(s.workers.all[0].early) > 0 {
				t.Errorf("after: kept %+v, %d attempts", kept, s.Attempts())
			}
			if w := s.workers.all[0]; w.running != 0 || w.core != nil && w.core.Holds(id) {
				t.Errorf("the slot runs %d attempts", w.running)
			}
		})
	}
}
