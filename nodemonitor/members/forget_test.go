package members_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/members"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Nodes and frontends come and go, each under a new name. What their batches leave in the
// inbox is kept until none of their batches is in transit any more, and no longer.
func TestSendersThatLeftAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		self := wire.Ref{Role: sched.Worker, Name: "self"}
		inbox := link.NewInbox(self, 1)
		w := newWorldOf(func(c *members.Config) {
			c.Links, c.Forgotten = link.NewSet(link.SetOptions{Self: self, Log: slog.New(slog.DiscardHandler)}), inbox.Forget
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		const stay = time.Minute
		const kept = 2 * int(link.ForgetAfter/stay+2) // of each role: those present, and those that left
		for i := range 100 {
			list := &wire.Membership{Nodes: []wire.MemberNode{node(fmt.Sprint("n", i), 1, int32(i%2)+1)}} //nolint:gosec // 1 or 2
			list.Frontends = []wire.MemberFrontend{{Name: fmt.Sprint("f", i), Incarnation: 1}}
			w.Apply(list)
			for _, peer := range []wire.Ref{{Role: sched.Worker, Name: list.Nodes[0].Name}, {Role: sched.Distributor, Name: list.Frontends[0].Name}} {
				if _, err := inbox.Accept(&wire.Batch{Sender: peer, Incarnation: 1, Sequence: 1}, func(*wire.Batch) (string, error) { return "", nil }); err != nil {
					t.Fatal(err)
				}
			}
			if got := inbox.Len(); got > kept {
				t.Fatalf("after %d nodes and as many frontends %d senders are remembered, want at most %d", i+1, got, kept)
			}
			w.sleep(stay)
		}
		if got := inbox.Len(); got < kept-4 {
			t.Errorf("%d senders are remembered, want those of %v: late batches of theirs are dropped", got, link.ForgetAfter)
		}
	})
}
