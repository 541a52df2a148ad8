package master_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Epochs: 1 above the highest reported, raised later by a peer that reports more,
// and every launch carries it.
func TestEpochs(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	if r := f.Register(wire.Hello{Epoch: 6}); r.Epoch != 7 {
		t.Errorf("after a report of epoch 6 the master works under %d", r.Epoch)
	}
	n := daemontest.Node(t, "n1", m.Addr())
	if r := n.Register(wire.Hello{Epoch: 3, Slots: daemontest.Slots(1, 1)}); r.Epoch != 7 {
		t.Errorf("after a report of epoch 3 the master works under %d", r.Epoch)
	}
	f.Send(daemontest.Tasks(1, 2))
	if l := n.AwaitGot(sched.Launch, 1)[0].Msg; l.Epoch != 7 {
		t.Errorf("%s", sched.Describe(&l))
	}
	if r := daemontest.Node(t, "n2", m.Addr()).Register(wire.Hello{Epoch: 20}); r.Epoch != 21 {
		t.Errorf("after a report of epoch 20 the master works under %d", r.Epoch)
	}
	n.Send(from(n, 0, sched.Message{Kind: sched.Idle, Seq: 3}))
	if l := n.AwaitGot(sched.Launch, 2)[1].Msg; l.Epoch != 21 || n.Epoch() != 21 {
		t.Errorf("%s in a batch of epoch %d", sched.Describe(&l), n.Epoch())
	}
	if r := n.Snapshot(daemontest.Slots(1, 1)...); r.Epoch != 21 {
		t.Errorf("a snapshot is answered %+v", r)
	}
}

// An epoch that is equal to the master's own is another's, unless the master assigned it: a
// predecessor that did not live long may have answered some with it and not others.
func TestEpochOfAPredecessor(t *testing.T) {
	m := start(t, settings())
	mine := daemontest.Frontend(t, "f1", m.Addr()).Register(wire.Hello{Epoch: 1, EpochOf: 5})
	if mine.Epoch != 2 {
		t.Fatalf("after a report of epoch 1 the master works under %d", mine.Epoch)
	}
	for _, c := range []struct {
		node  string
		hello wire.Hello
		epoch uint64
	}{
		{"n1", wire.Hello{Epoch: 2, EpochOf: mine.Incarnation}, 2},
		{"n2", wire.Hello{Epoch: 2, EpochOf: 6}, 3},
		{"n3", wire.Hello{Epoch: 2, EpochOf: 6}, 3},
		{"n4", wire.Hello{Epoch: 3, EpochOf: mine.Incarnation}, 3},
	} {
		if r := daemontest.Node(t, c.node, m.Addr()).Register(c.hello); r.Epoch != c.epoch {
			t.Errorf("after a report of epoch %d of %d the master %d works under %d, want %d", c.hello.Epoch, c.hello.EpochOf, mine.Incarnation, r.Epoch, c.epoch)
		}
	}
}

// Each launch carries what its own task is to do, and its own name.
func TestCargo(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(3, 1)})
	it := daemontest.Tasks(1, 3)
	it.Trace = api.Trace{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	it.TaskIDs = []string{"a", "b", "c"}
	for _, word := range it.TaskIDs {
		it.Payloads = append(it.Payloads, api.Payload{Message: []byte("do " + word)})
	}
	f.Send(it)
	launches := n.AwaitGot(sched.Launch, 3)
	for i, l := range launches {
		want := it.TaskIDs[l.Msg.First]
		if got := string(l.Payload(0).Message); got != "do "+want || l.TaskID(l.Msg.First, 0) != want {
			t.Errorf("launch %d: task %d has payload %q and name %q", i, l.Msg.First, got, l.TaskID(l.Msg.First, 0))
		}
		if l.JobName != "job" || l.User != "user" || l.FrontendAddress != "127.0.0.1:1" || l.SchedulerAddress != "127.0.0.1:2" || l.Trace != it.Trace {
			t.Errorf("launch %d carries %+v", i, l.Extra)
		}
	}
	// Another attempt, by a frontend that serves elsewhere since.
	again := daemontest.Tasks(1, 1)
	again.Msg.First, again.Msg.Attempt, again.Msg.Head = 1, 2, true
	again.TaskIDs, again.Payloads, again.SchedulerAddress = []string{"b"}, []api.Payload{{Message: []byte("do it")}}, "127.0.0.1:3"
	f.Send(again)
	n.Send(from(n, 0, sched.Message{Kind: sched.Idle, Seq: 3}))
	l := n.AwaitGot(sched.Launch, 4)[3]
	if l.Msg.First != 1 || l.Msg.Attempt != 2 || string(l.Payload(0).Message) != "do it" || l.SchedulerAddress != "127.0.0.1:3" {
		t.Errorf("the second attempt is launched with %+v", l)
	}
}

// A launch that its slot refused returns to the head of its queue and is launched again.
func TestRefusedLaunch(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f.Send(daemontest.Tasks(1, 2))
	l := n.AwaitGot(sched.Launch, 1)[0].Msg
	n.Send(
		from(n, 0, sched.Message{Kind: sched.Refused, Job: l.Job, First: l.First, Attempt: l.Attempt, Seq: 2, Reason: "no"}),
		from(n, 0, sched.Message{Kind: sched.Idle, Seq: 2}))
	again := n.AwaitGot(sched.Launch, 2)[1].Msg
	if again.First != l.First || again.Attempt != l.Attempt || again.Seq != 2 {
		t.Errorf("after the refusal of %s comes %s", sched.Describe(&l), sched.Describe(&again))
	}
	if s := m.state(); s.RefusedLaunch != 1 || s.Launches != 2 || s.QueuedShort != 1 {
		t.Errorf("%+v", s)
	}
}

// A node that refuses messages for good is lost, so that its tasks go
// elsewhere; to a frontend the rest is sent.
func TestRefusedBatches(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	no := "it does not like it"
	n.Refuse.Store(&no)
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	m.await("the node is lost", func(s api.MasterState) bool { return s.Workers == 0 })

	f.Refuse.Store(&no)
	n.Refuse.Store(nil)
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 2)})
	f.Send(daemontest.Tasks(1, 1))
	n.AwaitGot(sched.Launch, 1)
	f.Refuse.Store(nil)
	n.Snapshot() // the slot is withdrawn: its attempt is lost
	f.AwaitGot(sched.AttemptLost, 1)
}

// Messages of an unregistered frontend are not stepped: it registers and sends all
// again, marked as sent again.
func TestTasksOfAnUnregisteredFrontend(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Send(daemontest.Tasks(1, 1))
	f.Register(wire.Hello{})
	f.Send(daemontest.Tasks(2, 1))
	if l := n.AwaitGot(sched.Launch, 1)[0].Msg; l.Job.Lo != 2 {
		t.Errorf("launched was %s", sched.Describe(&l))
	}
	if s := m.state(); s.QueuedShort != 0 {
		t.Errorf("%d tasks wait", s.QueuedShort)
	}
}

// The start of a master that follows another: tasks that were sent before wait until
// the nodes have reported what runs, a second at most; tasks that run or have ended
// are not launched again; new tasks are launched at once.
func TestRecovery(t *testing.T) {
	t.Parallel()
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{Epoch: 1})
	resent := daemontest.Tasks(1, 4)
	resent.Msg.Resent = true
	resent.SchedulerAddress = "127.0.0.1:20"
	f.Send(resent)
	n := daemontest.Node(t, "n1", m.Addr())
	slots := daemontest.Slots(3, 9)
	slots[0].Running = sched.AttemptID{Job: resent.Msg.Job, Task: 2, Attempt: 1}
	slots[0].Frontend, slots[0].FrontendAddress, slots[0].JobName = f.Ref, f.Address(), "job"
	slots[1].Kept = []sched.AttemptID{{Job: resent.Msg.Job, Task: 0, Attempt: 1}}
	began := time.Now()
	if r := n.Register(wire.Hello{Epoch: 1, Slots: slots}); r.Epoch != 2 {
		t.Errorf("epoch %d", r.Epoch)
	}
	f.Send(daemontest.Tasks(2, 1))
	if l := n.AwaitGot(sched.Launch, 1)[0].Msg; l.Job.Lo != 2 || time.Since(began) > time.Second {
		t.Errorf("a new task is to be launched at once, and %s was after %v", sched.Describe(&l), time.Since(began))
	}
	if h := f.AwaitGot(sched.Holding, 2)[1].Msg; h.First != 2 || h.Attempt != 1 {
		t.Errorf("the owner of the running task received %s", sched.Describe(&h))
	}
	if v, err := m.client.JobView(t.Context(), resent.Msg.Job, ""); err != nil || v.Share.Queued < 2 || v.Share.Running != 1 {
		t.Errorf("meanwhile the master shows %+v, %v", v, err)
	}
	// After the wait, tasks that no node reported are returned: an earlier master may have launched
	// them.
	var returned []int32
	for _, r := range f.AwaitGot(sched.Returned, 2) {
		if !r.Msg.Resent || r.Msg.Count != 1 || r.Msg.Attempt != 1 {
			t.Errorf("returned %s", sched.Describe(&r.Msg))
		}
		returned = append(returned, r.Msg.First)
	}
	if slices.Sort(returned); !slices.Equal(returned, []int32{1, 3}) {
		t.Errorf("of four tasks, one running and one ended, %v were returned, want 1 and 3", returned)
	}
	again := daemontest.Tasks(1, 1) // its owner gives it another number
	again.Msg.First, again.Msg.Attempt, again.SchedulerAddress = 1, 2, "127.0.0.1:20"
	f.Send(again)
	n.Send(from(n, 1, sched.Message{Kind: sched.Idle, Seq: 11}))
	if l := n.AwaitGot(sched.Launch, 2)[1]; l.Msg.Job.Lo != 1 || l.Msg.First != 1 || l.Msg.Attempt != 2 || l.SchedulerAddress != "127.0.0.1:20" {
		t.Errorf("launched %+v", l)
	}
	if v, err := m.client.JobView(t.Context(), resent.Msg.Job, ""); err != nil || v.Share.Queued != 0 || v.Share.Running != 2 {
		t.Errorf("in the end the master shows %+v, %v", v, err)
	}
}

// Tasks sent twice are held once, and their payloads too.
func TestTasksTwice(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f.Send(daemontest.Tasks(1, 3))
	f.Send(daemontest.Tasks(1, 3))
	m.await("one runs and two wait", func(s api.MasterState) bool { return s.QueuedShort == 2 && s.BusyGeneral == 1 })
	for seq := uint64(3); seq < 9; seq += 2 {
		n.Send(from(n, 0, sched.Message{Kind: sched.Idle, Seq: seq}))
	}
	m.await("all have run", func(s api.MasterState) bool { return s.QueuedShort == 0 && s.IdleGeneral == 1 })
	if s := m.state(); s.Launches != 3 {
		t.Errorf("%d launches of 3 tasks", s.Launches)
	}
	f.Send(wire.Item{Msg: sched.Message{Kind: sched.Drop, Job: sched.JobID{Hi: 1, Lo: 1}}}, wire.Item{Msg: sched.Message{Kind: sched.Tasks, Job: sched.JobID{Hi: 1, Lo: 9}, Attempt: 1}})
	m.await("nothing is held", func(s api.MasterState) bool { return s.Launches == 3 })
}

// A full queue returns tasks, to be tried later.
func TestFullQueue(t *testing.T) {
	cfg := settings()
	cfg.LostAfter, cfg.MaxTasks = patient(), 10
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f.Send(daemontest.Tasks(1, 10), daemontest.Tasks(2, 2))
	if r := f.AwaitGot(sched.Returned, 1)[0].Msg; !r.Full || r.Job.Lo != 2 || r.Count != 2 {
		t.Errorf("returned is %s", sched.Describe(&r))
	}
}

// Tasks whose payloads have no room are returned, with the limit, to be tried later; those
// that were sent before may run here and are kept.
func TestFullOfPayloads(t *testing.T) {
	t.Parallel()
	cfg := settings()
	cfg.LostAfter, cfg.MaxBytes = patient(), 16<<20
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	large := func(job uint64) wire.Item {
		it := daemontest.Tasks(job, 1)
		it.Payloads = []api.Payload{{Message: make([]byte, 3<<20)}}
		return it
	}
	for job := range uint64(5) {
		f.Send(large(job + 1))
	}
	f.Send(large(6))
	if r := f.AwaitGot(sched.Returned, 1)[0].Msg; !r.Full || r.Job.Lo != 6 || r.Count != 1 || !strings.Contains(r.Reason, "max_bytes is 16777216") {
		t.Errorf("returned is %s", sched.Describe(&r))
	}
	again := large(7)
	again.Msg.Resent = true
	f.Send(again, daemontest.Tasks(8, 1))
	f.Send(large(9))
	daemontest.Await(t, "one that came later is returned", func() bool {
		return slices.ContainsFunc(f.Got(sched.Returned), func(it wire.Item) bool { return it.Msg.Full && it.Msg.Job.Lo > 7 })
	})
	for _, it := range f.Got(sched.Returned) { // after the recovery, tasks sent again are returned for another number
		if it.Msg.Job.Lo == 7 && (it.Msg.Full || !it.Msg.Resent) {
			t.Errorf("returned is %s", sched.Describe(&it.Msg))
		}
	}
	if got := master.TasksRefused(m.Master); got < 2 {
		t.Errorf("%v tasks are counted as returned for their bytes", got)
	}
}

// A launch carries whether others wait for the slot: tasks of another application, or of
// another owner of the same, that are as urgent.
func TestLaunchTellsWhetherOthersWait(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	slots := daemontest.Slots(1, 1)
	slots[0].Serves = []string{"", "a", "b"}
	n.Register(wire.Hello{Slots: slots})
	of := func(job uint64, app string, c sched.Class, count int32) wire.Item {
		it := daemontest.Tasks(job, count)
		it.Msg.App, it.Msg.Class = app, c
		return it
	}
	f.Send(of(1, "a", sched.Short, 3), of(2, "b", sched.Long, 3), of(3, "a", sched.Long, 1))
	for i, contended := range []bool{false, false, false, true, true, true, false} {
		l := n.AwaitGot(sched.Launch, i+1)[i]
		if l.Contended != contended {
			t.Errorf("launch %d of %s: others wait: %v, want %v", i, l.Msg.App, l.Contended, contended)
		}
		n.Send(from(n, 0, sched.Message{Kind: sched.Idle, Seq: uint64(i) + 2})) //nolint:gosec // small
	}
}

// The levels of one application may be of different owners: a slot that one of them has is
// contended while tasks of another one wait.
func TestLaunchTellsWhetherOtherOwnersWait(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	slots := daemontest.Slots(1, 1)
	slots[0].Serves = []string{"", "a"}
	n.Register(wire.Hello{Slots: slots})
	of := func(job uint64, owner string) wire.Item {
		it := daemontest.Tasks(job, 1)
		it.Msg.App, it.Msg.Owner, it.Msg.Class = "a", owner, sched.Short
		return it
	}
	f.Send(of(1, "alice"), of(2, "alice"), of(3, "bob"), of(4, "bob"))
	var contended []string
	for i := range 4 {
		if l := n.AwaitGot(sched.Launch, i+1)[i]; l.Contended {
			contended = append(contended, l.Msg.Owner)
		}
		n.Send(from(n, 0, sched.Message{Kind: sched.Idle, Seq: uint64(i) + 2})) //nolint:gosec // small
	}
	// The first arrived alone; they alternate, and the last one of each waits for no other.
	if len(contended) < 1 || len(contended) > 2 {
		t.Errorf("others waited at the launches of %v", contended)
	}
}

// A node that has no room for the results of a silent frontend refuses its tasks. They are
// returned to that frontend, and others' run.
func TestRefusedForSilentFrontend(t *testing.T) {
	t.Parallel()
	cfg := settings()
	cfg.LostAfter = 2 * time.Second // and a frontend is silent after five times that
	m := start(t, cfg)
	silent, other := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Frontend(t, "f2", m.Addr())
	silent.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	alive(t, n, func() []wire.Slot { return daemontest.Slots(1, 1) })
	silent.Send(daemontest.Tasks(1, 3))
	refused := 0
	daemontest.Await(t, "the tasks are returned", func() bool {
		if list := n.Got(sched.Launch); len(list) > refused {
			l := list[refused].Msg
			refused++
			n.Send(
				from(n, 0, sched.Message{Kind: sched.Refused, Job: l.Job, First: l.First, Attempt: l.Attempt, Seq: l.Seq + 1, Reason: "it keeps too many results"}),
				from(n, 0, sched.Message{Kind: sched.Idle, Seq: l.Seq + 1}))
		}
		return len(silent.Got(sched.Returned)) > 0
	})
	tasks := int32(0)
	for _, r := range silent.Got(sched.Returned) {
		tasks += r.Msg.Count
	}
	if tasks < 2 || refused == 0 {
		t.Errorf("%d tasks are returned after %d refusals", tasks, refused)
	}
	other.Register(wire.Hello{})
	it := daemontest.Tasks(2, 1)
	other.Send(it)
	daemontest.Await(t, "the other's is launched", func() bool {
		list := n.Got(sched.Launch)
		last := list[len(list)-1].Msg
		if last.Job != it.Msg.Job && len(list) > refused {
			refused++
			n.Send(
				from(n, 0, sched.Message{Kind: sched.Refused, Job: last.Job, First: last.First, Attempt: last.Attempt, Seq: last.Seq + 1, Reason: "it keeps too many results"}),
				from(n, 0, sched.Message{Kind: sched.Idle, Seq: last.Seq + 1}))
		}
		return last.Job == it.Msg.Job
	})
}

// A master lists the jobs of a frontend that have running tasks, each once, and no others.
func TestRunningJobs(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f, other := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Frontend(t, "f2", m.Addr())
	f.Register(wire.Hello{})
	other.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(4, 1)})
	f.Send(daemontest.Tasks(1, 2), daemontest.Tasks(2, 1))
	n.AwaitGot(sched.Launch, 3)
	other.Send(daemontest.Tasks(3, 2))
	n.AwaitGot(sched.Launch, 4)
	f.Send(daemontest.Tasks(4, 1)) // waits
	for name, want := range map[string][]uint64{"f1": {1, 2}, "f2": {3}, "f3": nil} {
		r, err := f.Master().RunningJobs(t.Context(), name)
		var got []uint64
		for _, job := range r.Jobs {
			got = append(got, job.Lo)
		}
		slices.Sort(got)
		if err != nil || r.More || !slices.Equal(got, want) {
			t.Errorf("jobs %v of %s run, want %v; more: %v, %v", got, name, want, r.More, err)
		}
	}
}

// A master finds where a task runs, however many tasks of its job do.
func TestRunningAttempts(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(120, 1)})
	f.Send(daemontest.Tasks(1, 121))
	for _, it := range n.AwaitGot(sched.Launch, 120) {
		list, err := f.Master().RunningAttempts(t.Context(), it.Msg.Job, it.Msg.First)
		if err != nil || len(list) != 1 || list[0].Task != int(it.Msg.First) || list[0].Attempt != 1 || list[0].State != "running" || list[0].Node != fmt.Sprintf("n1/%d", it.To.Slot) {
			t.Fatalf("task %d at slot %d: %+v, %v", it.Msg.First, it.To.Slot, list, err)
		}
	}
	if list, err := f.Master().RunningAttempts(t.Context(), sched.JobID{Lo: 1}, 120); err != nil || len(list) != 0 {
		t.Errorf("of a task that waits: %+v, %v", list, err)
	}
}
