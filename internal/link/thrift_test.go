package link

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// noDirectory is a directory for messages that name no core.
type noDirectory struct{}

func (noDirectory) Addr(wire.Ref) sched.Addr        { return sched.Addr{} }
func (noDirectory) Ref(sched.Addr) (wire.Ref, bool) { return wire.Ref{}, false }

// overThrift returns a Deliverer that reaches r through the real client, a
// loopback socket and the real server.
func overThrift(t testing.TB, r wire.BatchReceiver) Deliverer {
	t.Helper()
	codec := wire.NewCodec(noDirectory{}, func() sched.Time { return 0 })
	s := servertest.Start(t, wire.PeerProcessor(wire.PeerPorts{Batches: r}, codec), server.Options{MaxFrame: wire.MaxBatchBytes, Security: servertest.Anybody()})
	p, err := client.New(client.Options{Address: s.Addr().String(), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return wire.NewPeerClient(p, codec)
}

func TestOverThrift(t *testing.T) {
	r := newReceiver(3)
	l := open(t, overThrift(t, r), Options{})
	const n = 5000
	for i := 1; i <= n; i += 10 {
		if err := l.Send(numbered(i, i+9)...); err != nil {
			t.Fatal(err)
		}
	}
	waitEmpty(t, l)
	if !inOrder(r.numbers(), n) {
		t.Errorf("%d messages received, or out of order", len(r.numbers()))
	}
}

// waitEmpty polls until the real network has taken everything.
func waitEmpty(t testing.TB, l *Link) {
	t.Helper()
	await.Until(t, "everything is delivered", func() bool { return l.Stats().Queued == 0 },
		func() string { return fmt.Sprintf("%+v", l.Stats()) })
}
