package link

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A peer that does not know a kind of messages receives it once. Those of the kind that are
// queued later are passed back at once; other messages arrive in order. The peer's successor
// may know the kind, and receives it again.
func TestUnknownKindIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var received, back []string
		incarnation, knows := int64(1), false
		killNumber := int8(8) // its number on the wire, which never changes
		l := open(t, deliverFunc(func(_ context.Context, b *wire.Batch) (r wire.BatchReply, err error) {
			mu.Lock()
			defer mu.Unlock()
			r.Incarnation = incarnation
			for i := range b.Items {
				m := &b.Items[i].Msg
				received = append(received, fmt.Sprintf("%v %d", m.Kind, m.First))
				if m.Kind == sched.Kill && !knows {
					r.RefusedKinds = []int8{killNumber, 120}
				}
			}
			return r, nil
		}), Options{OnUnknown: func(items []wire.Item) {
			mu.Lock()
			defer mu.Unlock()
			for i := range items {
				back = append(back, fmt.Sprintf("%v %d", items[i].Msg.Kind, items[i].Msg.First))
			}
		}})
		send := func(kind sched.Kind, number int32) {
			t.Helper()
			if err := l.Send(wire.Item{From: frontend, To: master, Msg: sched.Message{Kind: kind, First: number}}); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what, wantReceived, wantBack string) {
			t.Helper()
			pass(time.Second)
			mu.Lock()
			defer mu.Unlock()
			if got := fmt.Sprint(received, back); got != wantReceived+" "+wantBack {
				t.Errorf("%s: received and passed back are %s, want %s %s", what, got, wantReceived, wantBack)
			}
			received, back = nil, nil
			if s := l.Stats(); s.Queued != 0 || s.Bytes != 0 {
				t.Errorf("%s: the account does not balance: %+v", what, s)
			}
		}
		send(sched.Drop, 1)
		send(sched.Kill, 2)
		send(sched.Drop, 3)
		check("the first", "[Drop 1 Kill 2 Drop 3]", "[Kill 2]")
		send(sched.Kill, 4)
		check("one alone", "[]", "[Kill 4]")
		send(sched.Kill, 5)
		send(sched.Drop, 6)
		check("one among others", "[Drop 6]", "[Kill 5]")

		l.Reset(1) // the daemon registers again with the same process
		send(sched.Kill, 7)
		check("the same process", "[]", "[Kill 7]")
		mu.Lock()
		incarnation, knows = 2, true
		mu.Unlock()
		l.Reset(2)
		send(sched.Kill, 8)
		check("its successor", "[Kill 8]", "[]")
	})
}
