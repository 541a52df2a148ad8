package frontend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// named is a job of tasks that sleep and have names of their own.
func named(key string, tasks int) *api.Request {
	r := sleeps(key, tasks, time.Hour)
	r.User, r.Retries = "ann", 1
	for i := range r.Tasks {
		r.Tasks[i].ID = fmt.Sprintf("task-%c", 'a'+i)
		r.Tasks[i].Payload.Sleep += time.Duration(i)
	}
	return r
}

// All steps of late binding: reservations at workers, a request for a task, a launch with
// everything that the node needs, the answer NoTask, the result.
func TestLateBinding(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"sparrow", "peacock", "hawk", "eagle"} {
		t.Run(spec, func(t *testing.T) { lateBinding(t, spec) })
	}
}

func lateBinding(t *testing.T, spec string) {
	k := newPublisher(t)
	f := k.frontend(spec)
	w := &world{t: t}
	w.submit(f, named("job", 2))
	e, err := f.Explain(t.Context(), "job")
	if err != nil || !strings.Contains(strings.Join(e.Why, " "), "no worker is registered") {
		t.Errorf("without workers: %+v, %v", e, err)
	}
	n := nodeOfFrontend(t, f, "n")
	k.enters(n, 4, 7)
	probes := n.AwaitGot(sched.Probe, 2)
	if m := &probes[0].Msg; m.Job != f.JobID("job") || m.Count != 2 || probes[0].To.Slot > 1 {
		t.Errorf("probed by %s for slot %d", sched.Describe(m), probes[0].To.Slot)
	}
	if !deliver(n, f, 1, taskRequest(f, "job", 1, 11), taskRequest(f, "job", 0, 12), taskRequest(f, "job", 1, 13)) {
		t.Fatal("the requests were not accepted")
	}
	launches := n.AwaitGot(sched.Launch, 2)
	l := &launches[0]
	if l.To.Slot != 1 || l.Msg.Seq != 11 || l.Msg.First != 0 || l.Msg.Attempt != 1 || l.Msg.Count != 1 {
		t.Errorf("launched %s at slot %d", sched.Describe(&l.Msg), l.To.Slot)
	}
	if l.JobName != "job" || l.User != "ann" || l.FrontendAddress != f.InternalAddr() || l.SchedulerAddress != f.Addr() || l.TaskID(0, 0) != "task-a" || l.Payload(0).Sleep != time.Hour {
		t.Errorf("the payload is %+v", l.Extra)
	}
	if l := &launches[1]; l.To.Slot != 0 || l.Msg.First != 1 || l.TaskID(1, 0) != "task-b" || l.Payload(0).Sleep != time.Hour+1 {
		t.Errorf("launched %s with %+v", sched.Describe(&l.Msg), l.Extra)
	}
	if no := n.AwaitGot(sched.NoTask, 1)[0]; no.To.Slot != 1 || no.Msg.Seq != 13 {
		t.Errorf("the third request is answered %s to slot %d", sched.Describe(&no.Msg), no.To.Slot)
	}
	if s := f.state(t, "job"); s.State != api.StateRunning || s.Running != 2 {
		t.Errorf("with both tasks at workers: %+v", s)
	}
	e, err = f.Explain(t.Context(), "job")
	if err != nil || len(e.Tasks) != 2 || e.Tasks[0].Node != "n/1" || e.Tasks[1].Node != "n/0" || !strings.Contains(strings.Join(e.Why, " "), "All of its 2 unfinished tasks are at workers") {
		t.Errorf("%+v, %v", e, err)
	}
	for _, a := range e.Tasks {
		if now := float64(time.Now().UnixMicro()) / 1e6; a.Started < e.Status.Submitted || a.Started > now || a.Seconds < 0 || a.Started+a.Seconds > now {
			t.Errorf("submitted at %f, now it is %f: %+v", e.Status.Submitted, now, a)
		}
	}
	sendReport(t, n, f, "job", 0, 1, sched.Done)
	sendReport(t, n, f, "job", 1, 1, sched.Failed)
	again := n.AwaitGot(sched.Probe, len(probes)+1)
	if m := &again[len(again)-1].Msg; m.Count != 1 {
		t.Errorf("the failed task is probed for by %s", sched.Describe(m))
	}
	deliver(n, f, 2, taskRequest(f, "job", 0, 20))
	if l := &n.AwaitGot(sched.Launch, 3)[2]; l.Msg.First != 1 || l.Msg.Attempt != 2 {
		t.Errorf("the second try is %s", sched.Describe(&l.Msg))
	}
	sendReport(t, n, f, "job", 1, 2, sched.Done)
	w.done(f, "job")
}

// Explain counts reservations and requests while tasks are bound to no worker.
func TestExplainUnbound(t *testing.T) {
	k := newPublisher(t)
	f := k.frontend("sparrow:ratio=2")
	n := nodeOfFrontend(t, f, "n")
	k.enters(n, 0, 1, 2, 3)
	w := &world{t: t}
	daemontest.Await(t, "the node is known", func() bool { return f.Members() == 4 })
	w.submit(f, sleeps("job", 3, time.Hour))
	n.AwaitGot(sched.Probe, 6)
	deliver(n, f, 1, taskRequest(f, "job", 2, 1))
	n.AwaitGot(sched.Launch, 1)
	e, err := f.Explain(t.Context(), "job")
	text := strings.Join(e.Why, " ")
	for _, want := range []string{"0 of 3 tasks have ended, 1 is at workers", "short job", "2 of its tasks are bound to no worker yet", "6 reservations went out to 4 live workers", "1 request for a task has come back"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q, %v", want, text, err)
		}
	}
	if len(e.Groups) != 0 || len(e.Tasks) != 1 || e.Tasks[0].Node != "n/2" {
		t.Errorf("%+v", e)
	}
	if _, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Task: 0, Stream: "stdout"}); err == nil || !strings.Contains(err.Error(), "is no node monitor") {
		t.Errorf("the log of a task at the test's node: %v", err)
	}
	if _, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Task: 2, Stream: "stdout"}); err == nil || !strings.Contains(err.Error(), "not started") {
		t.Errorf("the log of a task that is bound to no worker: %v", err)
	}
	if _, err := f.Cancel(t.Context(), "job"); err != nil {
		t.Error(err)
	}
	if m := n.AwaitGot(sched.Kill, 1)[0]; m.To.Slot != 2 || m.Msg.First != 0 {
		t.Errorf("killed %s at slot %d", sched.Describe(&m.Msg), m.To.Slot)
	}
}

// After a change of the membership a job whose tasks no worker requests is probed for
// again, until all its tasks are bound. Without a change nothing is probed for again.
func TestStaleJob(t *testing.T) {
	for _, spec := range []string{"sparrow:ratio=1", "peacock", "hawk:ratio=1"} {
		t.Run(spec, func(t *testing.T) {
			k := newPublisher(t)
			frontend.SetReprobe(t, 30*time.Millisecond)
			f := k.frontend(spec)
			n, other := nodeOfFrontend(t, f, "n"), nodeOfFrontend(t, f, "m")
			k.enters(n, 0)
			daemontest.Await(t, "the node is known", func() bool { return f.Members() == 1 })
			w := &world{t: t}
			w.submit(f, sleeps("job", 1, time.Hour))
			w.submit(f, sleeps("bound", 1, time.Hour))
			n.AwaitGot(sched.Probe, 2)
			deliver(n, f, 1, taskRequest(f, "bound", 0, 1))
			n.AwaitGot(sched.Launch, 1)
			if f.StaleJob("job") {
				t.Error("a job is stale, and the membership has not changed")
			}
			k.enters(other, 1)
			daemontest.Await(t, "it is probed for again", func() bool { return len(n.Got(sched.Probe))+len(other.Got(sched.Probe)) > 3 })
			for _, p := range append(n.Got(sched.Probe)[2:], other.Got(sched.Probe)...) {
				if p.Msg.Job != f.JobID("job") {
					t.Errorf("probed again by %s", sched.Describe(&p.Msg))
				}
			}
			if e, err := f.Explain(t.Context(), "job"); err != nil || !strings.Contains(strings.Join(e.Why, " "), "it was probed for again") {
				t.Errorf("%+v, %v", e, err)
			}
			deliver(n, f, 2, taskRequest(f, "job", 0, 2))
			n.AwaitGot(sched.Launch, 2)
			daemontest.Await(t, "no job is stale", func() bool { return !f.StaleJob("job") && !f.StaleJob("bound") })
		})
	}
}

// Under eagle a rejected probe is sent to another worker; the third try is in the reserved
// partition.
func TestRejectedProbes(t *testing.T) {
	k := newPublisher(t)
	f := k.frontend("eagle:least=1,ratio=1,reserved=0.25")
	n := nodeOfFrontend(t, f, "n")
	k.enters(n, 0, 1, 2, 3)
	daemontest.Await(t, "the node is known", func() bool { return f.Members() == 4 })
	(&world{t: t}).submit(f, sleeps("job", 1, time.Hour))
	for try := range int32(3) {
		probes := n.AwaitGot(sched.Probe, int(try)+1)
		p := probes[try]
		if p.Msg.Attempt != try+1 {
			t.Fatalf("try %d is %s", try+1, sched.Describe(&p.Msg))
		}
		if try == 2 {
			if p.To.Slot != 0 {
				t.Errorf("the last try is at slot %d", p.To.Slot)
			}
			break
		}
		deliver(n, f, uint64(try)+1, wire.Item{From: wire.Ref{Slot: p.To.Slot}, Msg: sched.Message{
			Kind: sched.ProbeRejected, Job: p.Msg.Job, Attempt: p.Msg.Attempt, More: &sched.More{Bits: []uint64{0b0110}, Stamp: sched.Time(try) + 1},
		}})
	}
	if second := n.Got(sched.Probe)[1]; second.To.Slot != 0 && second.To.Slot != 3 {
		t.Errorf("the second try is at slot %d, which has long work by the bitmap", second.To.Slot)
	}
	e, err := f.Explain(t.Context(), "job")
	if err != nil || !strings.Contains(strings.Join(e.Why, " "), "2 were rejected") {
		t.Errorf("%+v, %v", e, err)
	}
}

// A worker that refuses a launch returns the task.
func TestRefusedLaunch(t *testing.T) {
	k := newPublisher(t)
	f := k.frontend("sparrow")
	n := nodeOfFrontend(t, f, "n")
	k.enters(n, 0)
	w := &world{t: t}
	w.submit(f, sleeps("job", 1, 0))
	n.AwaitGot(sched.Probe, 1)
	deliver(n, f, 1, taskRequest(f, "job", 0, 1))
	l := n.AwaitGot(sched.Launch, 1)[0]
	before := len(n.Got(sched.Probe))
	refused := l.Msg
	refused.Kind, refused.Reason = sched.Refused, "the slot did not wait for it"
	deliver(n, f, 2, wire.Item{Msg: refused})
	n.AwaitGot(sched.Probe, before+1)
	deliver(n, f, 3, taskRequest(f, "job", 0, 2))
	if again := n.AwaitGot(sched.Launch, 2)[1]; again.Msg.Attempt != 1 || again.Msg.Seq != 2 {
		t.Errorf("launched again as %s", sched.Describe(&again.Msg))
	}
	sendReport(t, n, f, "job", 0, 1, sched.Done)
	w.done(f, "job")
}

// Messages of kinds that a node or a frontend does not send are ignored and counted.
func TestForeignMessagesIgnored(t *testing.T) {
	k := newPublisher(t)
	f := k.frontend("sparrow")
	n := nodeOfFrontend(t, f, "n")
	k.enters(n, 0)
	(&world{t: t}).submit(f, sleeps("job", 1, 0))
	n.AwaitGot(sched.Probe, 2)
	id := f.JobID("job")
	bad := []sched.Message{
		{Kind: sched.AttemptLost, Job: id, Attempt: 1}, {Kind: sched.Returned, Job: id, Count: 1, Attempt: 1}, {Kind: sched.Holding, Job: id, Attempt: 1},
		{Kind: sched.LoadShare, More: &sched.More{Load: sched.Load{Queued: 1 << 40}}}, {Kind: sched.Launch, Job: id, Attempt: 1}, {Kind: sched.Tasks, Job: id, Count: 1, Attempt: 1},
		{Kind: sched.Beat}, {Kind: sched.Serves}, {Kind: sched.GetTask, Job: id, Seq: 3, First: 100_000, Attempt: 1 << 30},
	}
	var items []wire.Item
	for _, m := range bad {
		items = append(items, wire.Item{Msg: m})
	}
	items = append(items, taskRequest(f, "job", 9, 5), taskRequest(f, "unknown", 0, 6)) // a slot without a number, a job that is not there
	deliver(n, f, 1, items...)
	answers := n.AwaitGot(sched.NoTask, 1)
	launches := n.AwaitGot(sched.Launch, 1)
	if len(launches) != 1 || launches[0].Msg.Seq != 3 || len(answers) != 1 || answers[0].Msg.Seq != 6 {
		t.Errorf("launched %v, answered %v", launches, answers)
	}
	if got := f.Ignored(t); got != float64(len(bad)) { // all but the request, and the slot
		t.Errorf("%v messages were ignored, want %d", got, len(bad))
	}
	if s := f.state(t, "job"); s.Attempts != 1 {
		t.Errorf("%+v", s)
	}
	if !slices.Contains([]api.State{api.StateQueued, api.StateRunning}, f.state(t, "job").State) {
		t.Error("it has ended")
	}
}
