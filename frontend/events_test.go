package frontend_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// awaitEvent waits for an event of a type that is about a job or a node, "" for any.
func awaitEvent(t *testing.T, f *frontOf, eventType, about string) (found api.Event) {
	t.Helper()
	var got []api.Event
	defer func() {
		if t.Failed() {
			for i := range got {
				t.Logf("%+v", got[i])
			}
		}
	}()
	daemontest.Await(t, "event "+eventType+" of "+about, func() bool {
		p, err := f.Events(t.Context(), api.EventQuery{})
		if err != nil {
			t.Fatal(err)
		}
		got = p.Events
		for i := range got {
			if e := &got[i]; e.Type == eventType && (about == "" || e.Job == about || e.Node == about) {
				found = *e
				return true
			}
		}
		return false
	})
	return found
}

// TestEvents: events report what happens to jobs, nodes and groups of a cluster, and have another
// epoch after a restart of the frontend.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	w.node(0, 2)
	f := w.frontend()
	if e := awaitEvent(t, f, api.EventGroupUp, ""); *e.Group != 0 || e.Index == 0 || e.Frontend != f.cfg.ID {
		t.Errorf("%+v", e)
	}
	fails := script("fails", "echo secret-output; exit 3", "secret-argument")
	fails.Owner, fails.Retries = "team/ann", 1
	w.submit(f, fails)
	after := sleeps("after", 1, time.Hour)
	after.After = []api.After{{Job: "fails", Any: true}}
	w.submit(f, after)
	e := awaitEvent(t, f, api.EventAttemptFailed, "fails")
	if *e.Task != 0 || e.Node == "" || e.Owner != "team/ann" || !strings.Contains(e.Message, "exit status 3") || !strings.Contains(e.Message, "follows") {
		t.Errorf("%+v", e)
	}
	if e = awaitEvent(t, f, api.EventTaskFailed, "fails"); e.Attempt == 0 || e.Severity != api.SeverityError {
		t.Errorf("%+v", e)
	}
	awaitEvent(t, f, api.EventJobFailed, "fails")
	absent := script("absent", "", "")
	absent.Tasks[0].Payload.Exec.Argv = []string{"/nonexistent/program"}
	w.submit(f, absent)
	if e = awaitEvent(t, f, api.EventTaskFailed, "absent"); !strings.Contains(e.Message, "exit status 127") {
		t.Errorf("a program that was not found has another exit status than in a shell: %s", e.Message)
	}
	awaitEvent(t, f, api.EventJobReleased, "after")
	awaitEvent(t, f, api.EventJobStarted, "after") // by the inventory of its node
	if _, err := f.Cancel(t.Context(), "after"); err != nil {
		t.Fatal(err)
	}
	if e = awaitEvent(t, f, api.EventJobCancelled, "after"); !strings.Contains(e.Message, "cancelled by") {
		t.Errorf("%+v", e)
	}
	p, err := f.Events(t.Context(), api.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Events {
		if e := &p.Events[i]; e.Index != uint64(i)+1 || strings.Contains(e.Message, "secret") {
			t.Errorf("event %d is %+v", i, e)
		}
	}

	second := w.node(0, 1, func(c *nodemonitor.Config) { c.ID = "second" })
	awaitEvent(t, f, api.EventNodeJoined, "second")
	if _, err := f.DrainNode(t.Context(), "second", api.DrainOrder{}); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, f, api.EventNodeOrdered, "second")
	awaitEvent(t, f, api.EventNodeDrained, "second")
	if _, err := f.ResumeNode(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, f, api.EventNodeResumed, "second")
	second.process.Stop()
	awaitEvent(t, f, api.EventNodeStopped, "second")

	f = w.restartFrontend(f)
	again, err := f.Events(t.Context(), api.EventQuery{Epoch: p.Epoch, After: p.Last})
	if err != nil || again.Epoch <= p.Epoch || again.Missed != 0 || len(again.Events) == 0 || again.Events[0].Index != 1 {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
	awaitEvent(t, f, api.EventFrontendStarted, "")
	w.restart(m)
	awaitEvent(t, f, api.EventGroupChanged, "")
}

// TestEventGroupLost: one event, an error, reports that a group has been without a master for
// master_lost, and one that it has a master again.
func TestEventGroupLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	f := w.frontend(func(c *frontend.Config) { c.MasterLost = time.Second })
	awaitEvent(t, f, api.EventGroupUp, "")
	m.process.Stop()
	e := awaitEvent(t, f, api.EventGroupLost, "")
	if e.Severity != api.SeverityError || e.Group == nil || *e.Group != 0 || !strings.HasPrefix(e.Message, "group 0 has had no master for 1s: its tasks are distributed again") {
		t.Errorf("%+v", e)
	}
	w.restart(m)
	e = awaitEvent(t, f, api.EventGroupChanged, "")
	if e.Severity != api.SeverityWarning || !strings.Contains(e.Message, "group 0 has another master than before") {
		t.Errorf("%+v", e)
	}
	p, err := f.Events(t.Context(), api.EventQuery{Types: []string{api.EventGroupLost}})
	if err != nil || len(p.Events) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestEventsOfLosses: an event reports the loss of an attempt with its node and the next attempt,
// and the failure of a task that was lost with three nodes has that reason.
func TestEventsOfLosses(t *testing.T) {
	t.Parallel()
	k := newPublisher(t)
	f := k.frontend("fifo")
	(&world{t: t}).submit(f, sleeps("job", 1, time.Hour))
	nodes := []string{"a", "b", "c"}
	for i, node := range nodes {
		k.awaitGot(sched.Tasks, i+1)
		k.send(f, uint64(i)+1, sched.Message{Kind: sched.AttemptLost, Job: f.JobID("job"), Attempt: int32(i) + 1, Node: node, Reason: "it was silent"}) //nolint:gosec // a few
	}
	if e := awaitEvent(t, f, api.EventTaskFailed, "job"); e.Reason != events.ReasonNodesLost || e.Attempt != len(nodes) || e.Severity != api.SeverityError || !strings.Contains(e.Message, "task 0 was lost with 3 nodes within 600 s, a, b and c") {
		t.Errorf("%+v", e)
	}
	awaitEvent(t, f, api.EventJobFailed, "job")
	p, err := f.Events(t.Context(), api.EventQuery{Types: []string{api.EventAttemptLost}})
	if err != nil || len(p.Events) != len(nodes)-1 {
		t.Fatalf("%+v, %v", p, err)
	}
	for i := range p.Events {
		follows := fmt.Sprintf("attempt %d follows", i+2)
		if e := &p.Events[i]; e.Attempt != i+1 || e.Node != nodes[i] || e.Severity != api.SeverityWarning || !strings.Contains(e.Message, "was lost") || !strings.Contains(e.Message, follows) {
			t.Errorf("event %d is %+v", i, e)
		}
	}
}

// TestEventsAreBounded: a slow reader learns what it missed, and one reader too many is refused.
func TestEventsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend(func(c *frontend.Config) { c.EventLimit, c.EventReaders = 3, 1 })
	p, err := f.Events(t.Context(), api.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []string{"one", "two", "three"} {
		w.submit(f, sleeps(job, 1, time.Millisecond))
		w.done(f, job)
	}
	awaitEvent(t, f, api.EventJobCompleted, "three")
	if slow, err := f.Events(t.Context(), api.EventQuery{Epoch: p.Epoch, After: p.Last}); err != nil || slow.Missed == 0 || slow.Last != p.Last+slow.Missed+uint64(len(slow.Events)) {
		t.Errorf("%+v, %v", slow, err)
	}
	answered := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := f.Events(t.Context(), api.EventQuery{Types: []string{api.EventNodeForgotten}, Wait: time.Minute})
			answered <- err
		}()
	}
	if e, ok := errors.AsType[*api.Error](<-answered); !ok || e.Problem != api.Busy || !strings.Contains(e.What, "event_readers") {
		t.Errorf("one reader too many: %v", e)
	}
	f.process.Stop()
	if err := <-answered; err != nil {
		t.Errorf("who waited when the frontend stopped: %v", err)
	}
}

// TestEventsOfOthers: each role sees of other users' jobs what it may see.
func TestEventsOfOthers(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	as := func(name string, role identity.Role) wire.Scheduler {
		return f.As(identity.Principal{Name: name, Role: role, Proof: identity.Token})
	}
	r := script("hers", "exit 1", "x")
	r.Name = "payroll"
	if _, _, err := as("ann", identity.User).Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, f, api.EventJobFailed, "hers")
	for _, c := range []struct {
		name  string
		role  identity.Role
		whole bool
	}{{"ann", identity.User, true}, {"bob", identity.User, false}, {"eve", identity.Viewer, false}, {"root", identity.Operator, true}} {
		p, err := as(c.name, c.role).Events(t.Context(), api.EventQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for i := range p.Events {
			if e := &p.Events[i]; e.Job != "" {
				types = append(types, e.Type)
				if !c.whole && (e.Node != "" || e.Task != nil || e.Reason != "" || strings.Contains(e.Message, "payroll") || e.Owner == "") {
					t.Errorf("%s sees %+v", c.name, e)
				}
			}
		}
		if !slices.Contains(types, api.EventJobFailed) || slices.Contains(types, api.EventTaskFailed) != c.whole || !slices.ContainsFunc(p.Events, func(e api.Event) bool { return e.Group != nil }) {
			t.Errorf("%s sees %q", c.name, types)
		}
	}
}
