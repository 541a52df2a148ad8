package slots

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// The time limit of an exec task begins with its program, which may begin long after the launch: its files are
// fetched, or the disk of its node hangs.
func TestTimeLimitBeginsWithTheProgram(t *testing.T) {
	const limit, waited = time.Second, time.Minute
	for name, began := range map[string]bool{"launched": false, "begun before its node monitor restarted": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, due := &killer{}, make(chan sched.AttemptID, 4)
				s := newWorkers(t, "pigeon", &keeper{}, b, func(End) {})
				s.attempts.overtime = func(_ int32, id sched.AttemptID) { due <- id }
				s.attempts.began = s.Began
				id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 2}, Attempt: 10_001}
				launch := &wire.Item{
					To: wire.Ref{Role: sched.Worker, Name: "n"}, Msg: sched.Message{Kind: sched.Launch, Job: id.Job, First: id.Task, Attempt: id.Attempt},
					Extra: wire.Extra{Payloads: []api.Payload{{Backend: api.BackendExec, Limits: &api.Limits{Time: limit}}}},
				}
				task, _, err := s.Continue(&Adoption{Launch: launch, Backend: b, Began: began})
				if err != nil {
					t.Fatal(err)
				}
				ended := func(after time.Duration) bool {
					time.Sleep(after)
					synctest.Wait()
					s.EndOvertime(0, id)
					return len(b.killed) > 0
				}
				if began {
					if task.Began != nil || ended(limit-1) || !ended(1) || len(due) != 1 {
						t.Errorf("killed %v, due %d times", b.killed, len(due))
					}
					return
				}
				if ended(waited) || len(due) > 0 {
					t.Fatalf("it was ended before its program began: due %d times", len(due))
				}
				task.Began()
				if ended(limit-1) || !ended(1) || len(due) != 1 {
					t.Errorf("killed %v, due %d times", b.killed, len(due))
				}
				s.Ended(&End{s.workers.all[0], backend.Result{ID: id, Outcome: sched.Killed}})
				task.Began() // it comes too late
			})
		})
	}
}

// The time for which a task was suspended is told without that in which its files were fetched.
func TestSuspendedAfterTheFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, b := &keeper{}, &killer{}
		s := newWorkers(t, "pigeon-x", k, b, func(End) {})
		s.attempts.began = s.Began
		id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 2}, Attempt: 10_001}
		task, _, err := s.Continue(&Adoption{Backend: b, Launch: &wire.Item{
			To: wire.Ref{Role: sched.Worker, Name: "n"}, Msg: sched.Message{Kind: sched.Launch, Job: id.Job, First: id.Task, Attempt: id.Attempt},
			Extra: wire.Extra{Payloads: []api.Payload{{Backend: api.BackendExec, Stage: []api.StagedFile{{Name: "data"}}}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.Restore()
		time.Sleep(time.Minute)
		task.Began()
		began := time.Now()
		a := s.attempts.started[id]
		time.Sleep(2 * time.Second)
		s.cores.run.suspend(a, true)
		time.Sleep(10 * time.Second)
		s.cores.run.suspend(a, false)
		time.Sleep(3 * time.Second)
		s.Ended(&End{s.workers.all[0], backend.Result{ID: id, Outcome: sched.Done, Started: began, Finished: time.Now()}})
		if len(k.kept) != 1 || k.kept[0].Elapsed != 15*time.Second || k.kept[0].Suspended != 10*time.Second {
			t.Errorf("kept %+v", k.kept)
		}
	})
}
