package frontend_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A restarted frontend probes for all unfinished tasks of its journal, under every policy
// with late binding; results of tasks that ran meanwhile count.
func TestReprobeAfterRestart(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"sparrow", "sparrow:cancel=yes", "peacock", "hawk", "eagle"} {
		t.Run(spec, func(t *testing.T) {
			k := newPublisher(t)
			f := k.frontend(spec)
			w := &world{t: t}
			n := nodeOfFrontend(t, f, "n")
			k.enters(n, 0, 1)
			w.submit(f, sleeps("job", 3, time.Hour))
			n.AwaitGot(sched.Probe, 3)
			deliver(n, f, 1, taskRequest(f, "job", 0, 1))
			n.AwaitGot(sched.Launch, 1)
			deliver(n, f, 2, taskRequest(f, "job", 1, 1))
			n.AwaitGot(sched.Launch, 2)
			sendReport(t, n, f, "job", 1, 1, sched.Done)
			probes := len(n.Got(sched.Probe))
			f = w.restartFrontend(f)
			n.AwaitGot(sched.Probe, probes+2)
			if s := f.state(t, "job"); s.Completed != 1 || s.Attempts != 5 || s.Running != 0 {
				t.Errorf("after the restart: %+v", s)
			}
			sendReport(t, n, f, "job", 0, 1, sched.Done) // by the earlier attempt
			deliver(n, f, 3, taskRequest(f, "job", 0, 2), taskRequest(f, "job", 1, 2))
			if l := n.AwaitGot(sched.Launch, 3)[2].Msg; l.First != 2 || l.Attempt != 10_001 {
				t.Errorf("launched %s", sched.Describe(&l))
			}
			sendReport(t, n, f, "job", 2, 10_001, sched.Done)
			w.done(f, "job")
		})
	}
}

// A journal can be read under any policy, with a master for each group or a single one.
func TestJournalOfAnotherPolicy(t *testing.T) {
	t.Parallel()
	k := newPublisher(t)
	w := &world{t: t}
	f := k.frontend("fifo")
	job := sleeps("job", 4, time.Hour)
	job.Class = "long"
	w.submit(f, job)
	if m := k.awaitGot(sched.Tasks, 1)[0].Msg; m.Count != 4 {
		t.Fatal(sched.Describe(&m))
	}
	n := nodeOfFrontend(t, f, "n")
	k.enters(n, 0, 1)
	for _, next := range []struct {
		spec    string
		tasks   bool // the central master is sent them again
		attempt int32
	}{{"hawk", true, 10_001}, {"sparrow", false, 20_001}, {"kairos", true, 30_001}, {"priority", true, 40_001}, {"peacock", false, 50_001}, {"eagle", true, 60_001}} {
		probes := len(n.Got(sched.Probe))
		k.mu.Lock()
		k.got = nil
		k.mu.Unlock()
		f.process.Stop()
		f.cfg.Policy = next.spec
		f = w.runFrontend(f.cfg)
		if next.tasks {
			k.send(f, 1, sched.Message{Kind: sched.Holding}) // it has nothing of them
			if m := k.awaitGot(sched.Tasks, 1)[0].Msg; m.Count != 4 || m.Attempt != next.attempt {
				t.Errorf("%s: %s", next.spec, sched.Describe(&m))
			}
			continue
		}
		list := n.AwaitGot(sched.Probe, probes+4)
		if m := list[len(list)-1].Msg; m.Count != 4 {
			t.Errorf("%s: %s", next.spec, sched.Describe(&m))
		}
		deliver(n, f, uint64(next.attempt), taskRequest(f, "job", 0, uint64(next.attempt)))
		daemontest.Await(t, "a launch", func() bool {
			return slices.ContainsFunc(n.Got(sched.Launch), func(it wireItem) bool { return it.Msg.Attempt == next.attempt })
		})
	}
}

// Jobs that a policy cannot run are refused with the reason; one that was accepted
// before, under a policy that could, ends with it.
func TestTasksOfApplicationsUnderRivals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, appJob("old"))
	k := newPublisher(t)
	f.process.Stop()
	for _, spec := range []string{"sparrow", "peacock", "hawk", "eagle", "kairos", "fifo", "priority"} {
		f = k.frontend(spec, func(c *frontend.Config) { c.ID, c.Data = f.cfg.ID, f.cfg.Data })
		_, _, err := f.Submit(t.Context(), appJob("new"))
		refused(t, err, "policy "+f.cfg.Policy+" runs sleep and exec tasks only", `job "new"`)
		s := f.state(t, "old")
		daemontest.Await(t, "the old job has ended", func() bool { s = f.state(t, "old"); return s.State.Ended() })
		if s.State != "cancelled" || s.Reason == "" {
			t.Errorf("%+v", s)
		}
		f.process.Stop()
	}
}
