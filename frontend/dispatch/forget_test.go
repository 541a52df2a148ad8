package dispatch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Nodes and frontends come and go, each under a new name. What their batches leave in the
// inbox is kept until none of their batches is in transit any more, and no longer.
func TestSendersThatLeftAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newApplying(t)
		inbox := e.process.Inbox
		const stay = time.Minute
		const kept = 2 * int(link.ForgetAfter/stay+2) // of each role: those present, and those that left
		for i := range 100 {
			n := wire.MemberNode{Name: fmt.Sprint("n", i), Address: "h:1", Incarnation: 1, Numbers: []int32{int32(i%2) + 1}} //nolint:gosec // 1 or 2
			f := wire.MemberFrontend{Name: fmt.Sprint("f", i), Address: "h:2", Incarnation: 1}
			e.applyMembership(wire.Membership{Incarnation: 7, Version: uint64(i) + 1, Nodes: []wire.MemberNode{n}, Frontends: []wire.MemberFrontend{f}}) //nolint:gosec // not negative
			for _, peer := range []wire.Ref{nodeRef(n.Name), frontendRef(f.Name)} {
				b := &wire.Batch{Sender: peer, Incarnation: 1, Sequence: 1}
				if _, err := inbox.Accept(b, func(b *wire.Batch) (string, error) { return "", e.Unknown(b) }); err != nil {
					t.Fatal(err)
				}
			}
			if got := inbox.Len(); got > kept {
				t.Fatalf("after %d nodes and as many frontends %d senders are remembered, want at most %d", i+1, got, kept)
			}
			time.Sleep(stay)
		}
		if got := inbox.Len(); got < kept-4 {
			t.Errorf("%d senders are remembered, want those of %v: late batches of theirs are dropped", got, link.ForgetAfter)
		}
	})
}
