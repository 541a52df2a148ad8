package leastwait_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/leastwait"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// summary lists what a step sends and forgets.
func summary(list []sched.Action) (words []string) {
	for i := range list {
		switch a := &list[i]; a.Kind {
		case sched.Send:
			words = append(words, fmt.Sprintf("%s %d/%d#%d to %s", a.Msg.Kind, a.Msg.Job.Lo, a.Msg.First, a.Msg.Attempt, a.To))
		case sched.Forget:
			words = append(words, fmt.Sprintf("forget %d", a.Msg.Job.Lo))
		}
	}
	return words
}

// follower is a master that was started again, without workers yet.
func follower(t tester) *master {
	return &master{t: t, core: leastwait.New(sched.MasterConfig{Params: sched.Params{Cutoff: sched.Second}, Recover: true, MaxTasks: 10}, true)}
}

func up(id int32, job uint64, task int32) sched.Message {
	m := sched.Message{Kind: sched.WorkerUp, Peer: worker(id), Serves: []string{""}}
	if job > 0 {
		m.Job, m.First, m.Attempt, m.Class, m.Distributor, m.Estimate = sched.JobID{Lo: job}, task, 1, sched.Long, distributor, 4*sched.Second
	}
	return m
}

func expect(t *testing.T, what string, list []sched.Action, want ...string) {
	t.Helper()
	if got := summary(list); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// Tasks that nodes hold are adopted and not launched again; the rest are returned a
// second after the start, because an earlier master may have launched them. So is what
// waited at a worker that is lost.
func TestRecovery(t *testing.T) {
	m := follower(t)
	again := tasks(1, 4, 4*sched.Second)
	again.Resent = true
	expect(t, "sent again", m.step(distributor, again))
	expect(t, "a worker that runs one", m.step(sched.Addr{}, up(0, 1, 2)), "Serves 0/0#0 to distributor -1", "Holding 1/2#1 to distributor 7")
	expect(t, "and has one waiting", m.step(sched.Addr{}, up(0, 1, 0)), "Holding 1/0#1 to distributor 7")
	expect(t, "registered twice", m.step(sched.Addr{}, up(0, 1, 0)))
	kept := up(1, 0, 0)
	kept.Kept = []sched.AttemptID{{Job: job(1), Task: 1, Attempt: 1}}
	expect(t, "a worker that keeps a result", m.step(sched.Addr{}, kept))
	short := up(2, 8, 0)
	short.Class = sched.Short
	expect(t, "a worker that runs a short task", m.step(sched.Addr{}, short), "forget 8")
	if s := m.core.Share(job(1), 9); s.Running != 1 || s.Queued != 1 {
		t.Errorf("%+v", s)
	}
	m.now = sched.Second
	expect(t, "the second is over", m.step(sched.Addr{}, sched.Message{Kind: sched.Timeout}), "Returned 1/3#1 to distributor 7")
	expect(t, "the keeper is lost", m.step(sched.Addr{}, sched.Message{Kind: sched.WorkerLost, Peer: worker(1)}),
		"AttemptLost 1/1#1 to distributor -1")
	expect(t, "the other is lost", m.step(sched.Addr{}, sched.Message{Kind: sched.WorkerLost, Peer: worker(0)}),
		"AttemptLost 1/2#1 to distributor 7", "Returned 1/0#1 to distributor 7", "forget 1")
	expect(t, "sent again later", m.step(distributor, again), "Returned 1/0#1 to distributor 7", "forget 1")
}

// A running task counts with the rest of its estimate; the rest is 0 once it has run for
// longer. From an earlier version, which does not report it, the whole estimate counts.
func TestAdoptedWorkCounts(t *testing.T) {
	m := follower(t)
	for id, ran := range []sched.Time{sched.Second, 3 * sched.Second, 9 * sched.Second, 0} {
		runs := up(int32(id), uint64(10+id), 0) //nolint:gosec // few
		if ran > 0 {
			runs.More = &sched.More{Slots: []sched.Attained{{ID: runs.AttemptID(), Service: ran, Running: true}}}
		}
		m.step(sched.Addr{}, runs)
	}
	m.now = sched.Second / 2 // left are 2.5 s, 0.5 s, 0 and 3.5 s
	var at []string
	for job := range uint64(4) {
		at = append(at, summary(m.step(distributor, tasks(1+job, 1, sched.Second)))...)
	}
	want := []string{"Launch 1/0#1 to worker 2", "Launch 2/0#1 to worker 1", "Launch 3/0#1 to worker 2", "Launch 4/0#1 to worker 1"}
	if !slices.Equal(at, want) {
		t.Errorf("placed %q, want %q", at, want)
	}
}

// Waiting tasks can be dropped, and are bounded; either way their job is forgotten.
func TestRecoveryIsBounded(t *testing.T) {
	m := follower(t)
	again := tasks(1, 8, sched.Second)
	again.Resent = true
	m.step(distributor, again)
	again.Job = job(2)
	expect(t, "too many", m.step(distributor, again), "Returned 2/0#1 to distributor 7", "forget 2")
	expect(t, "some are dropped", m.step(distributor, sched.Message{Kind: sched.Drop, Job: job(1), First: 1, Count: 2}))
	expect(t, "all are", m.step(distributor, sched.Message{Kind: sched.Drop, Job: job(1)}), "forget 1")
	expect(t, "the second is over", m.step(sched.Addr{}, sched.Message{Kind: sched.Timeout}))
}
