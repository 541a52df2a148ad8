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

// keeper keeps results, and has room for all.
type keeper struct{ kept []results.Result }

func (k *keeper) CanReport(sched.Addr) bool                            { return true }
func (k *keeper) Reached(sched.Addr, string)                           {}
func (k *keeper) Keep(_ sched.Addr, r results.Result)                  { k.kept = append(k.kept, r) }
func (k *keeper) Resend(sched.AttemptID)                               {}
func (k *keeper) Keeps(sched.AttemptID) bool                           { return false }
func (k *keeper) KeepsOf(sched.AttemptID, int64) bool                  { return false }
func (k *keeper) EachKept(func(*results.Result) bool)                  {}
func (k *keeper) EachOld(sched.Time, func(*results.Result) bool)       {}
func (k *keeper) HasRoom(sched.Addr, results.Running) bool             { return true }
func (k *keeper) FullFor(results.Running) (silent map[sched.Addr]bool) { return nil }
func (k *keeper) Fullness(sched.Addr) string                           { return "" }
func (k *keeper) IsSilent(sched.Addr) bool                             { return false }
func (k *keeper) ofOutcome(id sched.AttemptID, o sched.Outcome) (found int) {
	for i := range k.kept {
		if k.kept[i].ID == id && k.kept[i].Outcome == o {
			found++
		}
	}
	return found
}

// killer is a backend that records what it is asked to kill.
type killer struct {
	backend.Backend

	killed []sched.AttemptID
}

func (k *killer) Kill(id sched.AttemptID) { k.killed = append(k.killed, id) }

// newWorkers returns the workers of a node with one slot, which has a backend of processes.
func newWorkers(t *testing.T, of string, k *keeper, b backend.Backend, ended func(End)) *Workers {
	t.Helper()
	p, params, err := policy.Configure(of, sched.Params{Cutoff: sched.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{
		Node: wire.Ref{Role: sched.Worker, Name: "n"}, Policy: p, Params: params, Master: sched.Addr{Role: sched.Master}, MasterRef: wire.Ref{Role: sched.Master, Name: "0"},
		Clock: runloop.NewClock(), Contact: func() (time.Time, int) { return time.Now(), 0 }, Now: func() sched.Time { return 0 },
		Backends: map[api.Backend]backend.Backend{api.BackendExec: b}, Results: k, Kept: k, Names: addrmap.New(),
		Ended: ended, Changed: func() {}, Timer: func(sched.Addr, uint64) {}, Overtime: func(int32, sched.AttemptID) {},
		Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(telemetry.NewMetrics("test"), prometheus.NewCounter(prometheus.CounterOpts{Name: "unpublished"})),
	})
	s.Add()
	return s
}

// An attempt of an earlier process may end, or be unwanted, before the master has numbered its
// worker, under policies that number workers: the node restarted a moment ago. Its result is kept
// once the worker has a core, or when the node stops, and the slot is idle then.
func TestEndBeforeTheCore(t *testing.T) {
	id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 2}, Attempt: 10_001}
	frontend := sched.Addr{Role: sched.Distributor}
	for _, c := range []struct {
		name string
		next func(s *Workers) error
	}{
		{"the master answers", func(s *Workers) error { return s.Registered(3, 77, []int32{5}) }},
		{"the node stops", func(s *Workers) error { s.Stop(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, b := &keeper{}, &killer{}
			s := newWorkers(t, "fifo", k, b, func(End) {})
			launch := &wire.Item{To: wire.Ref{Role: sched.Worker, Name: "n"}, Msg: sched.Message{Kind: sched.Launch, Job: id.Job, First: id.Task, Attempt: id.Attempt, Distributor: frontend}}
			if _, _, err := s.Continue(&Adoption{Launch: launch, Backend: b, Ran: time.Second}); err != nil {
				t.Fatal(err)
			}
			s.Restore()
			s.KillJob(frontend, id.Job, time.Now().Add(time.Minute))
			if len(b.killed) != 1 || b.killed[0] != id {
				t.Errorf("killed %v, want %v", b.killed, id)
			}
			s.Ended(&End{s.workers.all[0], backend.Result{ID: id, Outcome: sched.Done}})
			if len(k.kept) > 0 || s.Attempts() != 1 {
				t.Errorf("before: kept %+v, %d attempts", k.kept, s.Attempts())
			}
			if err := c.next(s); err != nil {
				t.Fatal(err)
			}
			if k.ofOutcome(id, sched.Done) != 1 || len(k.kept) != 1 || s.Attempts() != 0 || len(s.workers.all[0].early) > 0 {
				t.Errorf("after: kept %+v, %d attempts", k.kept, s.Attempts())
			}
			if w := s.workers.all[0]; w.running != 0 || w.core != nil && w.core.Holds(id) {
				t.Errorf("the slot runs %d attempts", w.running)
			}
		})
	}
}
