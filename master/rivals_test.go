package master_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// under returns the settings of a patient master of a policy.
func under(policy string) master.Config {
	c := settings()
	c.Policy, c.LostAfter = policy, patient()
	return c
}

// membership requests the membership, which must differ from the one named.
func (r *rig) membership(known wire.Membership) wire.Membership {
	r.t.Helper()
	got, err := r.client.Membership(r.t.Context(), known.Incarnation, known.Version, 20*time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// awaitMembership follows the membership until it is as wanted.
func (r *rig) awaitMembership(known wire.Membership, holds func(wire.Membership) bool) wire.Membership {
	r.t.Helper()
	daemontest.Await(r.t, "the membership", func() bool {
		if holds(known) {
			return true
		}
		known = r.membership(known)
		return holds(known)
	})
	return known
}

// Under every rival the one master numbers the workers, and the membership lists
// them with their numbers.
func TestRollOfEveryRival(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"sparrow", "peacock", "hawk", "eagle", "fifo", "priority", "kairos"} {
		m := start(t, under(p))
		first := m.membership(wire.Membership{})
		if first.Incarnation == 0 || first.Version == 0 || len(first.Nodes)+len(first.Frontends) != 0 {
			t.Errorf("%s: at first the membership is %+v", p, first)
		}
		f, a, b := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Node(t, "a", m.Addr()), daemontest.Node(t, "b", m.Addr())
		f.Register(wire.Hello{})
		if r := b.Register(wire.Hello{Slots: daemontest.Slots(2, 1), Memory: 512, Host: "host-b"}); !slices.Equal(r.Numbers, []int32{1, 2}) {
			t.Errorf("%s: two slots are numbered %v, plus one", p, r.Numbers)
		}
		if r := a.Register(wire.Hello{Slots: daemontest.Slots(1, 1)}); !slices.Equal(r.Numbers, []int32{3}) {
			t.Errorf("%s: the third is numbered %v, plus one", p, r.Numbers)
		}
		got := m.awaitMembership(first, func(r wire.Membership) bool { return len(r.Nodes) == 2 && len(r.Frontends) == 1 })
		want := []wire.MemberNode{
			{Name: "a", Address: a.Address(), Incarnation: a.Incarnation, Numbers: []int32{3}},
			{Name: "b", Address: b.Address(), Incarnation: b.Incarnation, Numbers: []int32{1, 2}, Memory: 512, Host: "host-b"},
		}
		for i, n := range got.Nodes {
			if n.Name != want[i].Name || n.Address != want[i].Address || n.Incarnation != want[i].Incarnation || n.Host != want[i].Host ||
				n.Memory != want[i].Memory || !slices.Equal(n.Numbers, want[i].Numbers) {
				t.Errorf("%s: on the membership is %+v, want %+v", p, n, want[i])
			}
		}
		if e := got.Frontends[0]; e.Name != "f1" || e.Address != f.Address() || e.Incarnation != f.Incarnation || got.Version <= first.Version {
			t.Errorf("%s: %+v after version %d", p, got, first.Version)
		}
		if s := m.state(); s.Workers != 3 || s.IdleGeneral+s.IdleReserved != 3 || len(s.Nodes) != 2 || s.Nodes[1].Slots != 2 || s.Epoch != 1 {
			t.Errorf("%s: %+v", p, s)
		}
		b.Snapshot(daemontest.Slots(1, 1)...) // a slot is withdrawn
		got = m.awaitMembership(got, func(r wire.Membership) bool { return len(r.Nodes[1].Numbers) == 1 })
		second := daemontest.Node(t, "a", m.Addr())
		a.Close()
		daemontest.Await(t, "the successor is accepted", func() bool { return second.Hello(wire.Hello{Slots: daemontest.Slots(1, 1)}).Accepted })
		m.awaitMembership(got, func(r wire.Membership) bool {
			return r.Nodes[0].Incarnation == second.Incarnation && slices.Equal(r.Nodes[0].Numbers, []int32{4})
		})
	}
}

// A request for the membership waits for a change, at most for the time that it names.
func TestRollWaits(t *testing.T) {
	m := start(t, under("sparrow"))
	known := m.membership(wire.Membership{})
	if same, err := m.client.Membership(t.Context(), known.Incarnation, known.Version, 10*time.Millisecond); err != nil || same.Version != known.Version {
		t.Errorf("%+v, %v", same, err)
	}
	if at, err := m.client.Membership(t.Context(), known.Incarnation, known.Version, 0); err != nil || at.Version != known.Version {
		t.Errorf("%+v, %v", at, err)
	}
	answers := make(chan wire.Membership)
	for range 8 {
		c := daemontest.Dial(t, m.Addr(), daemontest.Codec())
		go func() {
			r, err := c.Membership(t.Context(), known.Incarnation, known.Version, 20*time.Second)
			if err != nil {
				t.Error(err)
			}
			answers <- r
		}()
	}
	daemontest.Node(t, "a", m.Addr()).Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	for range 8 {
		if r := <-answers; len(r.Nodes) != 1 {
			t.Errorf("answered was %+v", r)
		}
	}
}

// A silent frontend leaves the membership, later than a node would, and is back
// with its next hello; messages sent to it meanwhile have waited.
func TestSilentFrontend(t *testing.T) {
	t.Parallel()
	cfg := settings()
	cfg.Policy, cfg.LostAfter = "hawk", 100*time.Millisecond
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	got := m.awaitMembership(wire.Membership{}, func(r wire.Membership) bool { return len(r.Frontends) == 1 })
	got = m.awaitMembership(got, func(r wire.Membership) bool { return len(r.Frontends) == 0 })
	n := daemontest.Node(t, "a", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	awaitServes(t, f, "")
	f.Register(wire.Hello{})
	m.awaitMembership(got, func(r wire.Membership) bool { return len(r.Frontends) == 1 })
}

// A reader of an earlier master's membership is answered by the new one only when the daemons that
// were on it have had the time to register again.
func TestRollAfterARestart(t *testing.T) {
	t.Parallel()
	cfg := under("sparrow")
	cfg.LostAfter = 3 * time.Second // in which the node must register
	began := time.Now()
	m := start(t, cfg)
	former := wire.Membership{Incarnation: 77, Version: 5}
	if r, err := m.client.Membership(t.Context(), former.Incarnation, former.Version, time.Millisecond); err != nil || time.Since(began) < cfg.LostAfter && !(r.Incarnation == 77 && r.Version == 5) {
		t.Errorf("at first it was answered %+v, %v", r, err)
	}
	a, slots := daemontest.Node(t, "a", m.Addr()), []wire.Slot{{Number: 5}}
	a.Register(wire.Hello{Epoch: 3, Slots: slots})
	alive(t, a, func() []wire.Slot { return slots }) // it must not be lost before the master answers
	if r := m.membership(former); len(r.Nodes) != 1 || time.Since(began) < cfg.LostAfter {
		t.Errorf("after %v it was answered %+v", time.Since(began), r)
	}
}

// A restarted master takes the numbers that nodes claim and refuses, with the
// numbers, a node whose claims others have.
func TestClaims(t *testing.T) {
	t.Parallel()
	m := start(t, under("eagle"))
	a, b, c := daemontest.Node(t, "a", m.Addr()), daemontest.Node(t, "b", m.Addr()), daemontest.Node(t, "c", m.Addr())
	claim := func(numbers ...int32) []wire.Slot {
		slots := daemontest.Slots(len(numbers), 1)
		for i, n := range numbers {
			slots[i].Number = n
		}
		return slots
	}
	if r := a.Register(wire.Hello{Epoch: 3, Slots: claim(5, 2)}); !slices.Equal(r.Numbers, []int32{5, 2}) || r.Epoch != 4 {
		t.Errorf("answered was %+v", r)
	}
	h := wire.Hello{Sender: c.Ref, Incarnation: c.Incarnation, Address: c.Address(), Slots: claim(0)}
	var busy *api.Error
	if _, err := c.Master().Hello(t.Context(), &h); !errors.As(err, &busy) || busy.Problem != api.Busy || busy.RetryAfter <= 0 {
		t.Errorf("a new node is answered %v", err)
	}
	if r := b.Hello(wire.Hello{Epoch: 3, Slots: claim(6, 2)}); r.Accepted || !slices.Equal(r.Numbers, []int32{2}) || !strings.Contains(r.Problem, `"b" claims`) {
		t.Errorf("claimed was what another node has: %+v", r)
	}
	daemontest.Await(t, "the new node is numbered", func() bool {
		r, err := c.Master().Hello(t.Context(), &h)
		return err == nil && r.Accepted && slices.Equal(r.Numbers, []int32{7})
	})
	if r := a.Snapshot(daemontest.Slots(3, 1)...); r.Known {
		t.Error("a slot without a number was taken in by a snapshot")
	}
	if r := a.Register(wire.Hello{Epoch: 4, Slots: claim(5, 2, 0)}); !slices.Equal(r.Numbers, []int32{5, 2, 8}) {
		t.Errorf("a slot that came since is numbered %v, plus one", r.Numbers)
	}
	if s := m.state(); s.Workers != 4 {
		t.Errorf("%d workers", s.Workers)
	}
}

// Slots that no list can be made by are refused.
func TestSlotOutOfRange(t *testing.T) {
	m := start(t, under("sparrow"))
	n := daemontest.Node(t, "a", m.Addr())
	if r := n.Hello(wire.Hello{Slots: []wire.Slot{{Slot: 1 << 30}}}); r.Accepted || !strings.Contains(r.Problem, "numbered from 0 to 65535") {
		t.Errorf("%+v", r)
	}
}

// A node that the master of a rival cannot call back is not registered: it would be
// assigned tasks as long as it is.
func TestUnreachableNodeIsNotNumbered(t *testing.T) {
	t.Parallel()
	cfg := settings()
	cfg.Policy = "hawk"
	m := start(t, cfg)
	bad := daemontest.Node(t, "bad", m.Addr())
	bad.Close()
	h := wire.Hello{Sender: bad.Ref, Incarnation: bad.Incarnation, Address: bad.Address(), Slots: daemontest.Slots(1, 1)}
	daemontest.Await(t, "the node is refused", func() bool {
		var e *api.Error
		_, err := bad.Master().Hello(t.Context(), &h)
		return errors.As(err, &e) && e.Problem == api.NotReady
	})
	bad.Reopen()
	daemontest.Await(t, "the node is registered", func() bool {
		r, err := bad.Master().Hello(t.Context(), &h)
		return err == nil && r.Accepted
	})
}

// Settings that do not fit the policy are refused before anything is started.
func TestRefusedShapes(t *testing.T) {
	two := []string{"127.0.0.1:1", "127.0.0.1:2"}
	for _, c := range []struct {
		key     string
		problem string
		set     func(*master.Config)
	}{
		{"policy", "has one master, of group 0", func(c *master.Config) { c.Policy, c.Group = "hawk", 1 }},
		{"masters", "policy hawk has one central master, 2 are configured", func(c *master.Config) { c.Policy, c.Masters = "hawk", two }},
		{"masters", "publishes the membership", func(c *master.Config) { c.Policy, c.Masters = "sparrow", two }},
		{"masters", "none for this master's group 2", func(c *master.Config) { c.Policy, c.Masters, c.Group = "pigeon-sort", two, 2 }},
		{"masters", "of group 1: give host:port", func(c *master.Config) { c.Policy, c.Masters = "pigeon-sort", []string{"127.0.0.1:1", "x"} }},
		{"masters", "without leadership all of them would lead", func(c *master.Config) { c.Policy, c.Masters = "pigeon-x", []string{"127.0.0.1:1/127.0.0.1:2"} }},
		{"masters", "without leadership all of them would lead", func(c *master.Config) { c.Masters = []string{"127.0.0.1:1/127.0.0.1:2"} }},
		{"master_lost", "use 1s or more", func(c *master.Config) { c.MasterLost = time.Second - 1 }},
	} {
		cfg := settings()
		c.set(&cfg)
		_, err := master.New(cfg, daemontest.Log(t))
		var fault *config.FieldError
		if !errors.As(err, &fault) || fault.Key != c.key || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%v; want %s: %s", err, c.key, c.problem)
		}
	}
}

// The master of a policy without masters schedules nothing: its view shows what
// nodes report.
func TestRegistrar(t *testing.T) {
	cfg := under("sparrow")
	cfg.Record = t.TempDir()
	m := start(t, cfg)
	f, n := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Node(t, "a", m.Addr())
	f.Register(wire.Hello{})
	if r := n.Register(wire.Hello{Slots: daemontest.Slots(3, 1)}); !slices.Equal(r.Serves, []string{""}) {
		t.Errorf("%+v", r)
	}
	f.Send(daemontest.Tasks(1, 2))
	n.Send(from(n, 0, sched.Message{Kind: sched.Idle, Seq: 3}))
	slots := daemontest.Slots(3, 1)
	slots[1].Running = sched.AttemptID{Job: sched.JobID{Lo: 3}, Attempt: 1}
	n.Snapshot(slots...)
	if s := m.state(); s.Workers != 3 || s.IdleGeneral != 2 || s.BusyGeneral != 1 || s.QueuedShort != 0 || s.Nodes[0].Busy != 1 || s.OldestShort != 0 {
		t.Errorf("%+v", s)
	}
	if v, err := m.client.JobView(t.Context(), sched.JobID{Hi: 1, Lo: 1}, ""); err != nil || v.Share.Queued+v.Share.Running != 0 || v.Share.Serving != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	m.process.Stop()
	if files, err := filepath.Glob(filepath.Join(cfg.Record, "*")); err != nil || len(files) != 0 {
		t.Errorf("without a core there is nothing to record: %v, %v", files, err)
	}
}

// verify replays the recording with a fresh core.
func verify(t *testing.T, cfg master.Config, least int) {
	t.Helper()
	p, params, err := policy.Configure(cfg.Policy, sched.Params{Cutoff: sched.Time(cfg.Cutoff), Reserved: cfg.Reserved})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(cfg.Record, "master-0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	steps, err := runloop.Verify(file, func(self sched.Addr) sched.Core {
		return p.NewMaster(sched.MasterConfig{Self: self, Seed: cfg.Seed, Params: params, MaxTasks: cfg.MaxTasks, Recover: true})
	})
	if err != nil || steps < least {
		t.Errorf("%s: %d inputs: %v", cfg.Policy, steps, err)
	}
}

// Long tasks go to the workers' own queues; the master hears when each begins and
// ends, and the attempts at its node are lost with it.
func TestCentralMasterOfHawk(t *testing.T) {
	for _, p := range []string{"hawk", "eagle"} {
		cfg := under(p)
		cfg.Record = t.TempDir()
		m := start(t, cfg)
		f, a, b := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Node(t, "a", m.Addr()), daemontest.Node(t, "b", m.Addr())
		f.Register(wire.Hello{})
		a.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
		b.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
		long := daemontest.Tasks(1, 4)
		long.Msg.Class, long.Msg.Estimate = sched.Long, 10*sched.Second
		long.Payloads = []api.Payload{{Backend: api.BackendSleep, Sleep: time.Second}}
		f.Send(long)
		l := a.AwaitGot(sched.Launch, 2)[0]
		b.AwaitGot(sched.Launch, 2)
		if l.Payload(0).Sleep != time.Second || l.JobName != "job" || (p == "eagle") != (l.Msg.More != nil) {
			t.Errorf("%s: launched is %+v", p, l)
		}
		a.Send(from(a, 0, sched.Message{Kind: sched.Started, Job: l.Msg.Job, First: l.Msg.First, Attempt: 1}))
		m.await("one has begun", func(s api.MasterState) bool { return s.QueuedLong == 3 })
		a.Close()
		a.Snapshot() // it withdraws its slot
		if lost := f.AwaitGot(sched.AttemptLost, 1)[0].Msg; lost.First != l.Msg.First {
			t.Errorf("%s: lost is %s", p, sched.Describe(&lost))
		}
		// A task that has not begun as far as is known may have: it needs another number.
		if r := f.AwaitGot(sched.Returned, 1)[0].Msg; !r.Resent || r.First == l.Msg.First {
			t.Errorf("%s: returned is %s", p, sched.Describe(&r))
		}
		m.process.Stop()
		verify(t, cfg, 6)
	}
}
