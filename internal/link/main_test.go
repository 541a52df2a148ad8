package link

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	frontend = wire.Ref{Role: sched.Distributor, Name: "f1"}
	master   = wire.Ref{Role: sched.Master, Name: "g1"}
)

var errBroken = errors.New("the connection broke")

// numbered returns the messages first..last; their number is in First.
func numbered(first, last int) []wire.Item {
	var items []wire.Item
	for i := first; i <= last; i++ {
		items = append(items, wire.Item{From: frontend, To: master, Msg: sched.Message{Kind: sched.Drop, First: int32(i)}})
	}
	return items
}

// receiver is a peer: the messages that reached its cores, and the calls that carried them.
type receiver struct {
	inbox *Inbox

	mu      sync.Mutex
	got     []int32
	batches []int // items in each, repeats left out
}

func newReceiver(incarnation int64) *receiver { return &receiver{inbox: NewInbox(master, incarnation)} }

func (r *receiver) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return r.inbox.Accept(b, func(b *wire.Batch) (string, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.batches = append(r.batches, len(b.Items))
		for i := range b.Items {
			r.got = append(r.got, b.Items[i].Msg.First)
		}
		return "", nil
	})
}

func (r *receiver) numbers() []int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]int32(nil), r.got...)
}

// deliverFunc is a Deliverer.
type deliverFunc func(ctx context.Context, b *wire.Batch) (wire.BatchReply, error)

func (f deliverFunc) Deliver(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return f(ctx, b)
}

// open returns a link that the test's end closes.
func open(t testing.TB, to Deliverer, o Options) *Link {
	t.Helper()
	o.Self, o.Peer, o.Incarnation = frontend, master, 7
	if o.Probe == 0 {
		o.Probe = -1
	}
	l, err := New(to, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// inOrder reports whether got is 1..n.
func inOrder(got []int32, n int) bool {
	for i, v := range got {
		if int(v) != i+1 {
			return false
		}
	}
	return len(got) == n
}

// pass lets time pass in a bubble and waits for what happened in it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
