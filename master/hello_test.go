package master_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// late sends the hello of another process of the peer.
func late(t *testing.T, p *daemontest.Peer, incarnation int64) wire.HelloReply {
	t.Helper()
	r, err := p.Master().Hello(t.Context(), &wire.Hello{Sender: p.Ref, Incarnation: incarnation, Address: p.Address(), Slots: daemontest.Slots(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A hello of a dead process that arrives after its successor has registered changes
// nothing, whatever the role: the successor's messages are still received.
func TestLateHello(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f, n := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Node(t, "n1", m.Addr())
	for _, p := range []*daemontest.Peer{f, n} {
		late(t, p, 7)
		registered := p.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
		if r := late(t, p, 7); r.Accepted || !strings.Contains(r.Problem, "a later process of") || !strings.Contains(r.Problem, p.Address()) || !strings.Contains(r.Problem, "another id") {
			t.Errorf("the late hello of a process of %v is answered %+v", p.Ref, r)
		}
		if again := p.Register(wire.Hello{Slots: daemontest.Slots(1, 1)}); again.Registration != registered.Registration {
			t.Errorf("after a late hello %v has registration %d, before %d", p.Ref, again.Registration, registered.Registration)
		}
	}
	f.Send(daemontest.Tasks(1, 1))
	n.AwaitGot(sched.Launch, 1)
}

// A process that was never seen alive may be taken for the successor, if its hello arrives
// late. The link to its address finds the living one, which is registered again and learns
// that its messages may have been dropped.
func TestLateHelloOfAnUnknownProcess(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	for _, p := range []*daemontest.Peer{daemontest.Frontend(t, "f1", m.Addr()), daemontest.Node(t, "n1", m.Addr())} {
		before := p.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
		late(t, p, 7)
		var again wire.HelloReply
		daemontest.Await(t, "the living process is registered again", func() bool {
			again = p.Hello(wire.Hello{Slots: daemontest.Slots(1, 1)})
			return again.Accepted
		})
		if again.Registration == before.Registration {
			t.Errorf("%v was not registered in between and does not learn of it", p.Ref)
		}
	}
}

// A daemon of another policy is refused with both policies; one that states none is of an
// older build and accepted. Epochs that cannot be are refused as well, and change nothing.
func TestHelloStates(t *testing.T) {
	cfg := settings()
	m := start(t, cfg)
	for i, c := range []struct {
		hello wire.Hello
		words []string
	}{
		{wire.Hello{}, nil},
		{wire.Hello{Policy: "pigeon"}, nil},
		{wire.Hello{Policy: "sparrow:probes=2"}, []string{`set to policy "pigeon"`, `"sparrow:probes=2"`, "the same policy in all daemons", "again"}},
		{wire.Hello{Epoch: 1<<64 - 1}, []string{"states epoch 18446744073709551615", "none above 9007199254740992", "same version"}},
		{wire.Hello{Epoch: sched.MaxEpoch + 1}, []string{"states epoch"}},
		{wire.Hello{Epoch: 41}, nil},
	} {
		for _, p := range []*daemontest.Peer{daemontest.Frontend(t, fmt.Sprint("f", i), m.Addr()), daemontest.Node(t, fmt.Sprint("n", i), m.Addr())} {
			r := p.Hello(c.hello)
			if r.Accepted != (c.words == nil) {
				t.Errorf("%+v: %+v", c.hello, r)
			}
			for _, word := range c.words {
				if !strings.Contains(r.Problem, word) {
					t.Errorf("%+v is answered %q, without %q", c.hello, r.Problem, word)
				}
			}
		}
	}
	if s := m.state(); s.Epoch != 42 {
		t.Errorf("the master works under epoch %d, want 42", s.Epoch)
	}
	for reason, want := range map[string]float64{"policy": 2, "epoch": 4, "group": 0} {
		if got := master.RefusedHellos(m.Master, reason); got != want {
			t.Errorf("%v hellos are counted as refused for their %s, want %v", got, reason, want)
		}
	}
}

// Tokens order the processes of one frontend: one with a higher token is registered at once,
// although the former one is alive and reachable elsewhere, and that one's hellos are refused from
// then on.
func TestHelloOfATakeover(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	former, next := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Frontend(t, "f1", m.Addr())
	former.Register(wire.Hello{Token: 5})
	next.Register(wire.Hello{Token: 9})
	if r := former.Hello(wire.Hello{Token: 5}); r.Accepted || !strings.Contains(r.Problem, "a later process of") {
		t.Errorf("the former leader's hello is answered %+v", r)
	}
	next.Register(wire.Hello{Token: 9})
}
