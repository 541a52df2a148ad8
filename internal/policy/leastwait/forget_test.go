package leastwait_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Whatever messages come, in whatever order and however often, the payload of a job is
// kept exactly while a task of it is here: the shell has it from the message that names
// the job until the core forgets the job.
func TestPayloadsAreForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMaster(t, 0, rapid.Bool().Draw(t, "bits"), int32(rapid.IntRange(0, 2).Draw(t, "workers")))
		payloads := map[sched.JobID]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.now += sched.Time(rapid.IntRange(0, 2).Draw(t, "seconds")) * sched.Second
			msg := sched.Message{
				Kind: rapid.SampledFrom([]sched.Kind{sched.Tasks, sched.Tasks, sched.WorkerUp, sched.WorkerLost, sched.Started, sched.Idle, sched.Drop, sched.DistributorUp}).Draw(t, "kind"),
				Job:  job(uint64(rapid.IntRange(1, 3).Draw(t, "job"))), First: int32(rapid.IntRange(0, 2).Draw(t, "task")),
				Attempt: int32(rapid.IntRange(1, 2).Draw(t, "attempt")), Class: sched.Class(rapid.IntRange(0, 1).Draw(t, "class")),
				Distributor: distributor, Estimate: sched.Second, Count: 1, Resent: rapid.Bool().Draw(t, "resent"),
			}
			from, peer := distributor, worker(int32(rapid.IntRange(0, 3).Draw(t, "worker")))
			switch msg.Kind {
			case sched.Tasks:
				msg.Class = sched.Long
				payloads[msg.Job] = true
			case sched.WorkerUp:
				from, msg.Peer, msg.Serves, msg.Resent = sched.Addr{}, peer, []string{""}, false
				payloads[msg.Job] = true
			case sched.WorkerLost:
				from, msg.Peer = sched.Addr{}, peer
			case sched.Started, sched.Idle:
				from = peer
			}
			for _, a := range m.step(from, msg) {
				if a.Kind == sched.Forget {
					delete(payloads, a.Msg.Job)
				}
			}
			for n := range uint64(3) {
				id := job(n + 1)
				share := m.core.Share(id, 0)
				if held := share.Queued+share.Running > 0; held != payloads[id] {
					t.Fatalf("after %s: tasks of job %d are here: %v, its payload is: %v", sched.Describe(&msg), n+1, held, payloads[id])
				}
			}
		}
	})
}
