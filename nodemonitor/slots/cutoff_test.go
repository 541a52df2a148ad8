package slots

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// An attempt that was killed, and that its backend gives back because it could not begin, was killed; one
// that nobody has killed is given back, and so is one that the node itself has ended.
func TestKilledAndGivenBack(t *testing.T) {
	id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 2}, Attempt: 1}
	frontend := sched.Addr{Role: sched.Distributor}
	for name, c := range map[string]struct {
		before func(s *Workers)
		want   sched.Outcome
	}{
		"nothing":           {func(*Workers) {}, sched.Yielded},
		"a kill":            {func(s *Workers) { s.KillJob(frontend, id.Job, time.Now()) }, sched.Killed},
		"a drain's end":     {func(s *Workers) { s.Drain("it drains"); s.Withdraw() }, sched.Yielded},
		"a kill in a drain": {func(s *Workers) { s.Drain("it drains"); s.KillJob(frontend, id.Job, time.Now()) }, sched.Killed},
	} {
		t.Run(name, func(t *testing.T) {
			b := &killer{}
			s := newWorkers(t, "pigeon", b)
			launch := &wire.Item{To: wire.Ref{Role: sched.Worker, Name: "n"}, Msg: sched.Message{Kind: sched.Launch, Job: id.Job, Attempt: id.Attempt, Distributor: frontend}}
			_, done, err := s.Continue(&Adoption{Launch: launch, Backend: b})
			if err != nil {
				t.Fatal(err)
			}
			s.Restore()
			c.before(s.Workers)
			done(backend.Result{ID: id, Outcome: sched.Yielded, Reason: "its disk hangs"})
			(<-s.posted)()
			if kept := s.kept(); len(kept) != 1 || kept[0].Outcome != c.want || (kept[0].Reason == "") != (c.want == sched.Killed) {
				t.Errorf("reported: %+v, want %v", kept, c.want)
			}
		})
	}
}
