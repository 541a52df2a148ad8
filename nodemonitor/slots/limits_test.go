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
				b := &killer{}
				s := newWorkers(t, "pigeon", b)
				id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 2}, Attempt: 10_001}
				launch := &wire.Item{
					To: wire.Ref{Role: sched.Worker, Name: "n"}, Msg: sched.Message{Kind: sched.Launch, Job: id.Job, First: id.Task, Attempt: id.Attempt, Distributor: sched.Addr{Role: sched.Distributor}},
					Extra: wire.Extra{Payloads: []api.Payload{{Backend: api.BackendExec, Limits: &api.Limits{Time: limit}}}},
				}
				task, _, err := s.Continue(&Adoption{Launch: launch, Backend: b, Began: began})
				if err != nil {
					t.Fatal(err)
				}
				posted := 0
				ended := func(after time.Duration) bool {
					time.Sleep(after)
					synctest.Wait()
					for due := len(s.posted); due > 0; due-- {
						(<-s.posted)()
						posted++
					}
					s.attempts.endOvertime(0, id)  // a timer that came too soon, or too late
					s.attempts.endOvertime(99, id) // for a slot that was removed
					return len(b.killed) > 0
				}
				if began {
					if task.Began != nil || ended(limit-1) || !ended(1) || posted != 1 {
						t.Errorf("killed %v, due %d times", b.killed, posted)
					}
					return
				}
				if ended(waited) || posted > 0 {
					t.Fatalf("it was ended before its program began: due %d times", posted)
				}
				task.Began()
				(<-s.posted)()
				if ended(limit-1) || !ended(1) || posted != 1 {
					t.Errorf("killed %v, due %d times", b.killed, posted)
				}
				s.ended(s.workers.all[0], &backend.Result{ID: id, Outcome: sched.Killed})
				task.Began() // it comes too late
				(<-s.posted)()
			})
		})
	}
}

// The time for which a task was suspended is told without that in which its files were fetched.
func TestSuspendedAfterTheFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &killer{}
		s := newWorkers(t, "pigeon-x", b)
		id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 2}, Attempt: 10_001}
		task, _, err := s.Continue(&Adoption{Backend: b, Launch: &wire.Item{
			To: wire.Ref{Role: sched.Worker, Name: "n"}, Msg: sched.Message{Kind: sched.Launch, Job: id.Job, First: id.Task, Attempt: id.Attempt, Distributor: sched.Addr{Role: sched.Distributor}},
			Extra: wire.Extra{Payloads: []api.Payload{{Backend: api.BackendExec, Stage: []api.StagedFile{{Name: "data"}}}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.Restore()
		time.Sleep(time.Minute)
		task.Began()
		(<-s.posted)()
		began := time.Now()
		a := s.attempts.started[id]
		time.Sleep(2 * time.Second)
		s.cores.run.suspend(a, true)
		time.Sleep(10 * time.Second)
		s.cores.run.suspend(a, false)
		time.Sleep(3 * time.Second)
		s.ended(s.workers.all[0], &backend.Result{ID: id, Outcome: sched.Done, Started: began, Finished: time.Now()})
		if kept := s.kept(); len(kept) != 1 || kept[0].Elapsed != 15*time.Second || kept[0].Suspended != 10*time.Second {
			t.Errorf("kept %+v", kept)
		}
	})
}
