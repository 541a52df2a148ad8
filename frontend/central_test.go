package frontend_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

type wireItem = wire.Item

// appJob is a job for processes of an application.
func appJob(key string) *api.Request {
	return &api.Request{App: "app", Key: key, Backend: api.BackendApp, Tasks: make([]api.Task, 1)}
}

func asAPI(err error) *api.Error {
	var e *api.Error
	if !errors.As(err, &e) {
		return nil
	}
	return e
}

// refused checks that an error contains these words and what to do next.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	e := asAPI(err)
	if e == nil || e.Problem != api.Invalid || e.Next == "" || e.Tried == "" {
		t.Errorf("%v", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(e.Error(), w) {
			t.Errorf("%q is missing in %q", w, e.Error())
		}
	}
}

// A policy without groups has one master; a configuration with more is refused before
// anything starts.
func TestOneMaster(t *testing.T) {
	for spec, words := range map[string]string{"hawk": "one central master, 3 are configured", "kairos": "one central master, 3", "sparrow": "no masters but one daemon", "peacock": "3 are configured"} {
		cfg := frontend.Default()
		cfg.Policy, cfg.Masters = spec, []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
		var fault *config.FieldError
		if err := cfg.Validate(); !errors.As(err, &fault) || fault.Key != "masters" || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", spec, err)
		}
		cfg.Masters = cfg.Masters[:1]
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s with one: %v", spec, err)
		}
	}
}

// Under a central policy the single master receives all tasks with their payloads.
// Tasks that it returns are placed there again, a lost attempt is retried there, and a
// new master receives all tasks that it should hold.
func TestCentralMaster(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"fifo", "priority", "kairos", "hawk", "eagle"} {
		t.Run(spec, func(t *testing.T) {
			k := newPublisher(t)
			f := k.frontend(spec)
			w := &world{t: t}
			job := named("job", 3)
			job.Class = "long"
			w.submit(f, job)
			it := k.awaitGot(sched.Tasks, 1)[0]
			id := f.JobID("job")
			if it.Msg.Job != id || it.Msg.Count != 3 || it.Msg.Class != sched.Long || len(it.TaskIDs) != 3 || len(it.Payloads) != 3 || it.FrontendAddress != f.InternalAddr() {
				t.Errorf("%s with %+v", sched.Describe(&it.Msg), it.Extra)
			}
			k.send(f, 1, sched.Message{Kind: sched.AttemptLost, Job: id, First: 1, Attempt: 1, Reason: "its node was lost"})
			if m := k.awaitGot(sched.Tasks, 2)[1].Msg; m.First != 1 || m.Attempt != 2 || m.Count != 1 {
				t.Errorf("after a loss: %s", sched.Describe(&m))
			}
			k.send(f, 2, sched.Message{Kind: sched.Returned, Job: id, First: 2, Count: 1, Attempt: 1})
			if m := k.awaitGot(sched.Tasks, 3)[2].Msg; m.First != 2 || m.Attempt != 1 {
				t.Errorf("after its return: %s", sched.Describe(&m))
			}
			n := nodeOfFrontend(t, f, "n")
			sendReport(t, n, f, "job", 0, 1, sched.Done)
			k.restart()
			again := k.awaitGot(sched.Tasks, 2)
			if a, b := again[0].Msg, again[1].Msg; a.First != 1 || a.Attempt != 2 || b.First != 2 || b.Attempt != 1 || !a.Resent || !b.Resent {
				t.Errorf("a new master is sent %s and %s", sched.Describe(&a), sched.Describe(&b))
			}
			if _, err := f.Cancel(t.Context(), "job"); err != nil {
				t.Error(err)
			}
			k.awaitGot(sched.Drop, 1)
		})
	}
}

// The tasks of a central master that stays away wait, and explain names the reason.
func TestCentralMasterLost(t *testing.T) {
	t.Parallel()
	k := newPublisher(t)
	f := k.frontend("fifo", func(c *frontend.Config) { c.MasterLost = time.Second })
	w := &world{t: t}
	w.submit(f, sleeps("job", 2, time.Hour))
	k.awaitGot(sched.Tasks, 1)
	k.stop()
	daemontest.Await(t, "it is missed", func() bool {
		e, err := f.Explain(t.Context(), "job")
		text := strings.Join(e.Why, " ")
		return err == nil && strings.Contains(text, "2 of its tasks are held") && strings.Contains(text, "The central master cannot be reached")
	})
	k.begin()
	if m := k.awaitGot(sched.Tasks, 1)[0].Msg; m.Count != 2 || m.Attempt != 2 {
		t.Errorf("the next is sent %s", sched.Describe(&m))
	}
}

// Peacock's frontends send each other their part of the shared state; the part of a
// frontend that has left no longer counts.
func TestFrontendsShareTheirLoad(t *testing.T) {
	k := newPublisher(t)
	f := k.frontend("peacock")
	other := k.frontend("peacock")
	n := nodeOfFrontend(t, f, "n")
	k.enters(n, 0)
	w := &world{t: t}
	daemontest.Await(t, "all are known", func() bool { return f.Members() == 1 && other.Members() == 1 && f.Others() == 1 && other.Others() == 1 })
	long := sleeps("job", 3, time.Hour)
	long.Estimate = 2 * time.Second
	w.submit(other, long)
	n.AwaitGot(sched.Probe, 3)
	load := func() int64 {
		count := len(n.Got(sched.Probe))
		w.submit(f, sleeps("", 1, 0))
		list := n.AwaitGot(sched.Probe, count+1)
		return list[len(list)-1].Msg.More.Load.Queued
	}
	before := int64(3 + 1) // its own job is in it
	for own := int64(0); ; own++ {
		if got := load(); got == before+own {
			break
		} else if got > before+own {
			t.Fatalf("the shared state has %d tasks, want %d", got, before+own)
		}
	}
	own := f.tasks(t)
	k.change(func(r *wire.Membership) { r.Frontends = r.Frontends[:0] })
	k.mu.Lock()
	k.deaf = true
	k.mu.Unlock()
	daemontest.Await(t, "the other has left", func() bool { return f.Others() == 0 })
	if got := load(); got != own+1 {
		t.Errorf("without the other the shared state has %d tasks, want %d", got, own+1)
	}
}

// tasks returns how many tasks of all jobs are unfinished.
func (f *frontOf) tasks(t *testing.T) (n int64) {
	t.Helper()
	list, err := f.List(t.Context(), 10_000, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		n += int64(s.Tasks - s.Completed - s.Failed)
	}
	return n
}
