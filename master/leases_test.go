package master_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A notice to the nodes says that tasks wait while another application, no more urgent, may
// have a lease: once, and again when it may have another one.
func TestLeasesAreRevoked(t *testing.T) {
	nats := daemontest.NATS(t)
	cfg := settings()
	cfg.LostAfter, cfg.NATS, cfg.Group = patient(), nats.URL(), 5
	m := start(t, cfg)
	f, n := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Node(t, "n1", m.Addr())
	f.Group, n.Group = 5, 5
	conn, err := notice.Connect(notice.Options{Access: notice.Access{URL: nats.URL()}, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	daemontest.Await(t, "NATS is reached", conn.Connected)
	published := make(chan sched.Message, 100)
	if err := conn.Subscribe(notice.WaitingSubject(cfg.Cluster, 5), func(data []byte) {
		b, err := n.Codec.Decode(data)
		if err != nil || len(b.Items) != 1 {
			t.Errorf("%v, %+v", err, b)
			return
		}
		published <- b.Items[0].Msg
	}); err != nil {
		t.Fatal(err)
	}
	f.Register(wire.Hello{})
	slots := daemontest.Slots(1, 1)
	slots[0].Serves = []string{"", "a", "b"}
	n.Register(wire.Hello{Slots: slots})
	owner := ""
	of := func(job uint64, app string, c sched.Class) wire.Item {
		it := daemontest.Tasks(job, 1)
		it.Msg.App, it.Msg.Class, it.Msg.Owner = app, c, owner
		return it
	}
	expect := func(app string, c sched.Class) {
		t.Helper()
		if got := <-published; got.App != app || got.Owner != owner || got.Class != c || got.Kind != sched.Tasks {
			t.Errorf("published %s, want tasks of %s, %v", sched.Describe(&got), app, c)
		}
	}
	f.Send(of(1, "a", sched.Short))
	n.AwaitGot(sched.Launch, 1)
	f.Send(of(2, "a", sched.Short), of(3, "b", sched.Long)) // its own, and less urgent ones: nothing is published
	f.Send(of(4, "b", sched.Short))
	expect("b", sched.Short)
	f.Send(of(5, "b", sched.Short)) // no lease is left
	for i := range 5 {
		n.Send(from(n, 0, sched.Message{Kind: sched.Idle, Seq: uint64(i) + 2})) //nolint:gosec // small
		if i < 4 {
			n.AwaitGot(sched.Launch, i+2)
		}
	}
	f.Send(of(6, "a", sched.Long))
	n.AwaitGot(sched.Launch, 6)
	owner = "bob"
	f.Send(of(7, "a", sched.Long)) // of the same application, and of another owner
	expect("a", sched.Long)
	if len(published) > 0 {
		t.Errorf("published more than once: %d", len(published))
	}
}
