package master_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/daemontest/ports"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// helping returns the settings of two masters that help each other.
func helping(t *testing.T) (both [2]master.Config) {
	t.Helper()
	addresses := ports.Addresses(t, 2)
	for g := range both {
		c := under("pigeon-sort:reserved=0")
		c.Group, c.Listen, c.Masters, c.MasterLost = g, addresses[g], addresses, time.Second
		c.Record = t.TempDir()
		both[g] = c
	}
	return both
}

// recorded counts the inputs of a kind in a master's recording.
func recorded(t *testing.T, c master.Config, kind sched.Kind) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Record, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings %v, %v", files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for dec := json.NewDecoder(f); dec.More(); {
		var line runloop.Recorded
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line.Message.Kind == kind {
			n++
		}
	}
	return n
}

// metric reports whether a figure is there and not zero.
func (r *rig) metric(name string) bool {
	r.t.Helper()
	r.state() // wakes the owner
	_, text := get(r.t.(*testing.T), "http://"+r.HTTP()+"/metrics")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value) != "0"
		}
	}
	return false
}

// Masters of groups that help each other find each other, and a worker that turns
// idle in one group receives, through its master, tasks that wait in the other.
func TestMastersHelpEachOther(t *testing.T) {
	t.Parallel()
	cfg := helping(t)
	busy, spare := start(t, cfg[0]), start(t, cfg[1])
	f := daemontest.Frontend(t, "f1", busy.Addr())
	f.Register(wire.Hello{})
	other := daemontest.Frontend(t, "f1", spare.Addr())
	other.Group = 1
	other.Register(wire.Hello{})
	a, b := daemontest.Node(t, "a", busy.Addr()), daemontest.Node(t, "b", spare.Addr())
	b.Group = 1
	a.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	b.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	for _, m := range []*rig{busy, spare} {
		daemontest.Await(t, "the masters meet", func() bool { return m.metric("pigeon_master_siblings") })
	}
	other.Send(daemontest.Tasks(7, 1))
	b.AwaitGot(sched.Launch, 1)
	f.Send(daemontest.Tasks(1, 3))
	a.AwaitGot(sched.Launch, 1)
	b.Send(from(b, 0, sched.Message{Kind: sched.Idle, Seq: 3}))
	if r := f.AwaitGot(sched.Returned, 1)[0].Msg; r.Job.Lo != 1 || r.Attempt != 1 || r.Peer != (sched.Addr{Role: sched.Master, ID: 1}) {
		t.Errorf("a task that waits is to go to the other group, and %s came back, for %v", sched.Describe(&r), r.Peer)
	}
	if !spare.metric("pigeon_master_core_messages_total") {
		t.Error("no message of the master that has a spare worker is counted")
	}
	busy.process.Stop()
	spare.process.Stop()
	if recorded(t, cfg[0], sched.MasterUp) != 1 || recorded(t, cfg[1], sched.MasterUp) == 0 || recorded(t, cfg[0], sched.Spare) == 0 {
		t.Error("the masters did not meet once, or no spare worker was reported")
	}
}

// Another master that does not answer is lost, and its successor is reported as a new one.
func TestMasterIsLostAndFound(t *testing.T) {
	t.Parallel()
	cfg := helping(t)
	first, gone := start(t, cfg[0]), start(t, cfg[1])
	n := daemontest.Node(t, "b", gone.Addr())
	n.Group = 1
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	daemontest.Await(t, "the masters meet", func() bool { return first.metric("pigeon_master_siblings") })
	gone.process.Stop()
	daemontest.Await(t, "the master is lost", func() bool { return !first.metric("pigeon_master_siblings") })
	start(t, cfg[1])
	daemontest.Await(t, "its successor is met", func() bool { return first.metric("pigeon_master_siblings") })
	first.process.Stop() // its recording is complete then
	if ups, lost := recorded(t, cfg[0], sched.MasterUp), recorded(t, cfg[0], sched.MasterLost); ups != 2 || lost != 1 {
		t.Errorf("it received %d masters up and %d lost, want 2 and 1", ups, lost)
	}
}

// A master that is not configured, or works under a policy without help, is refused
// with the reason.
func TestStrangeMaster(t *testing.T) {
	cfg := helping(t)
	m := start(t, cfg[0])
	codec := daemontest.Codec()
	for group, says := range map[int]string{1: "", 5: "none of the other masters", 0: "two masters of group 0 live"} {
		r, err := daemontest.Dial(t, m.Addr(), codec).Hello(t.Context(), &wire.Hello{Sender: addrmap.MasterRef(group), Incarnation: 9, Address: "127.0.0.1:9"})
		if err != nil || r.Accepted != (says == "") || !strings.Contains(r.Problem, says) {
			t.Errorf("master %d is answered %+v, %v", group, r, err)
		}
	}
}

// A second master of a group, without leadership, ends and says why, before it is ready if the setting
// masters names the first for the group. The first one says the same.
func TestSecondMasterOfAGroup(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"pigeon", "pigeon-x", "sparrow"} {
		log := &daemontest.Text{}
		first, err := master.New(under(p), slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		daemontest.Run(t, first)
		c := under(p)
		c.Masters = []string{first.Addr()}
		second, err := master.New(c, daemontest.Log(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := daemontest.Begin(t, second).End(); err == nil || !strings.Contains(err.Error(), second.Addr()) || !strings.Contains(err.Error(), first.Addr()) || !strings.Contains(err.Error(), "stop one of the two") {
			t.Errorf("%s: the second master ended with %v", p, err)
		}
		select {
		case <-second.Ready():
			t.Errorf("%s: the second master was ready", p)
		default:
		}
		if text := log.String(); !strings.Contains(text, second.Addr()) || !strings.Contains(text, "two masters of group 0 live") {
			t.Errorf("%s: the first master logged %s", p, text)
		}
	}
}

// The master of another group that hears two masters of one group tells both.
func TestAnotherMasterHearsTwo(t *testing.T) {
	t.Parallel()
	cfg, log := helping(t), &daemontest.Text{}
	cfg[0].MasterLost, cfg[1].MasterLost = patient(), patient() // none of them is lost meanwhile
	first, err := master.New(cfg[0], slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	daemontest.Run(t, first)
	other := start(t, cfg[1])
	daemontest.Await(t, "the masters meet", func() bool { return other.metric("pigeon_master_siblings") })
	c := cfg[0]
	c.Listen, c.Record = ports.Addresses(t, 1)[0], t.TempDir()
	c.Masters = []string{c.Listen, other.Addr()}
	second, err := master.New(c, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := daemontest.Begin(t, second).End(); err == nil || !strings.Contains(err.Error(), first.Addr()) || !strings.Contains(err.Error(), other.Addr()) {
		t.Errorf("the second master ended with %v", err)
	}
	daemontest.Await(t, "the first master says so", func() bool {
		return strings.Contains(log.String(), "another master claims this one's group") && strings.Contains(log.String(), second.Addr())
	})
}

// A process elsewhere that says hello as the master of a group is refused while the master at the
// configured address lives, and only then. A master that is started again is no second one.
func TestMasterElsewhere(t *testing.T) {
	t.Parallel()
	cfg := helping(t)
	m, there := start(t, cfg[0]), start(t, cfg[1])
	peer := daemontest.Dial(t, m.Addr(), daemontest.Codec())
	answer := func(incarnation int64) (accepted bool, other string) {
		r, err := peer.Hello(t.Context(), &wire.Hello{Sender: addrmap.MasterRef(1), Group: 0, Incarnation: incarnation, Address: "b:1"})
		if err != nil {
			t.Fatal(err)
		}
		return r.Accepted, r.Leader
	}
	daemontest.Await(t, "the masters meet", func() bool { return m.metric("pigeon_master_siblings") })
	if accepted, other := answer(4); !accepted || other != "" {
		t.Errorf("before the other one has answered again it is answered %v, %q", accepted, other)
	}
	daemontest.Await(t, "it is refused", func() bool { accepted, other := answer(4); return !accepted && other == cfg[1].Listen })
	if accepted, _ := answer(5); accepted {
		t.Error("started again there it is accepted")
	}
	there.process.Stop()
	daemontest.Await(t, "it is accepted", func() bool { accepted, other := answer(5); return accepted && other == "" })
	c := cfg[1]
	c.Record = t.TempDir()
	again := start(t, c)
	daemontest.Await(t, "the masters meet again", func() bool { return m.metric("pigeon_master_siblings") && again.metric("pigeon_master_siblings") })
	again.process.Stop() // no error
}

// The setting masters may name a master by another address than it names itself.
func TestOwnAddressByAnotherName(t *testing.T) {
	t.Parallel()
	c := under("pigeon-x")
	c.Listen = ports.Addresses(t, 1)[0]
	c.Masters = []string{strings.Replace(c.Listen, "127.0.0.1", "localhost", 1)}
	m := start(t, c)
	m.state()
	m.process.Stop()
	c.Masters = []string{"127.0.0.1:1"} // nobody is there
	start(t, c)
}

// A slot that holds attempts besides the one that runs is announced once for each,
// and the names of their jobs are kept.
func TestHeldAttempts(t *testing.T) {
	cfg := under("kairos")
	cfg.Record = t.TempDir()
	m := start(t, cfg)
	f, n := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Node(t, "a", m.Addr())
	f.Register(wire.Hello{Epoch: 1})
	slots := daemontest.Slots(1, 9)
	slots[0].Number = 4
	id := func(job uint64, task int32) sched.AttemptID {
		return sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: job}, Task: task, Attempt: 1}
	}
	slots[0].Running, slots[0].Frontend, slots[0].JobName = id(1, 0), f.Ref, "one"
	slots[0].Held = []wire.Held{
		{ID: id(1, 1), Frontend: f.Ref, JobName: "one", Suspended: true},
		{ID: id(2, 0), Frontend: f.Ref, JobName: "two", Class: sched.Long, Suspended: true},
	}
	n.Register(wire.Hello{Epoch: 1, Slots: slots})
	if h := f.AwaitGot(sched.Holding, 4)[1:]; h[0].Msg.First != 0 || h[1].Msg.First != 1 || h[2].Msg.Job.Lo != 2 { // behind the answer to its registration
		t.Errorf("the owner received %+v", h)
	}
	if v, err := m.client.JobView(t.Context(), sched.JobID{Hi: 1, Lo: 1}, ""); err != nil || v.Share.Running != 2 || len(v.Tasks) != 2 || v.Tasks[0].Node != "a/0" {
		t.Errorf("%+v, %v", v, err)
	}
	if s := m.state(); s.Workers != 1 || s.BusyGeneral != 1 || s.Nodes[0].Busy != 1 {
		t.Errorf("%+v", s)
	}
	resent := daemontest.Tasks(1, 2)
	resent.Msg.Resent = true
	f.Send(resent) // all of it is held
	n.Snapshot()
	f.AwaitGot(sched.AttemptLost, 3)
	if got := n.Got(sched.Launch); len(got) != 0 {
		t.Errorf("what the node holds was launched again: %+v", got)
	}
	m.process.Stop()
	verify(t, cfg, 6)
}
