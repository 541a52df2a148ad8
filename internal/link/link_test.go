package link

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A message that finds the link quiet leaves at once; messages that come meanwhile
// leave together.
func TestBatchesFormWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(1)
		l := open(t, deliverFunc(func(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
			time.Sleep(10 * time.Millisecond)
			return r.Deliver(ctx, b)
		}), Options{BatchItems: 40})
		begin := time.Now()
		for i := 1; i <= 100; i++ {
			if err := l.Send(numbered(i, i)...); err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				synctest.Wait()
			}
		}
		pass(time.Second)
		if !inOrder(r.numbers(), 100) {
			t.Errorf("received %v", r.numbers())
		}
		if got := fmt.Sprint(r.batches); got != "[1 40 40 19]" {
			t.Errorf("batches of %v, want the first alone and the rest as full as allowed", got)
		}
		if time.Since(begin) != time.Second {
			t.Error("Send took time")
		}
		if s := l.Stats(); s.Sent != 100 || s.Batches != 4 || s.Queued != 0 || s.Bytes != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestLargeMessagesAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes, tasks int
		l := open(t, deliverFunc(func(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
			for i := range b.Items {
				tasks += int(b.Items[i].Msg.Count)
				sizes = max(sizes, b.Items[i].Size())
			}
			return wire.BatchReply{Incarnation: 1}, nil
		}), Options{BatchBytes: 64 << 10})
		big := wire.Item{From: frontend, To: master, Msg: sched.Message{Kind: sched.Tasks, Count: 100}}
		for range 100 {
			big.Payloads = append(big.Payloads, api.Payload{Message: make([]byte, 4096)})
		}
		if err := l.Send(big, big); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if tasks != 200 || sizes > 64<<10 {
			t.Errorf("%d tasks in messages of up to %d bytes, want 200 and 64 KiB", tasks, sizes)
		}
		if s := l.Stats(); s.Queued != 0 || s.Bytes != 0 {
			t.Errorf("the account does not balance: %+v", s)
		}
	})
}

func TestTheQueueIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"messages": {Options{MaxItems: 10}, "8 messages are queued (limit 10)"},
		"bytes":    {Options{MaxBytes: 4000}, "bytes are queued (limit 4000)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newReceiver(1)
			gate := make(chan struct{})
			l := open(t, deliverFunc(func(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
				<-gate
				return r.Deliver(ctx, b)
			}), tc.options)
			if err := l.Send(numbered(1, 8)...); name == "messages" && err != nil {
				t.Fatal(err)
			}
			err := l.Send(numbered(9, 16)...)
			var parts *api.Error
			if !errors.As(err, &parts) || parts.Problem != api.Busy || !strings.Contains(err.Error(), tc.want) ||
				!strings.Contains(err.Error(), master.String()) {
				t.Errorf("%s: %v, want %q", name, err, tc.want)
			}
			close(gate)
			synctest.Wait()
			if err := l.Send(numbered(9, 9)...); err != nil {
				t.Errorf("%s: after the queue emptied: %v", name, err)
			}
		})
	}
}

// What the network and the peer may do to an attempt.
var mishaps = []string{"fine", "lost", "lost reply", "busy", "late copy", "hangs", "hangs after"}

// Whatever happens on the way, every message reaches the cores exactly once and in
// order.
func TestExactlyOnceInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.SampledFrom(mishaps), 0, 40).Draw(rt, "plan")
		sends := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 20).Draw(rt, "sends")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 50), len(sends), len(sends)).Draw(rt, "gaps")
		synctest.Test(t, func(t *testing.T) {
			r := newReceiver(1)
			l := open(t, &mishap{to: r, plan: plan}, Options{BatchItems: 16})
			total := 0
			for i, n := range sends {
				if err := l.Send(numbered(total+1, total+n)...); err != nil {
					t.Fatal(err)
				}
				total += n
				pass(time.Duration(gaps[i]) * time.Millisecond)
			}
			pass(5 * time.Minute)
			if got := r.numbers(); !inOrder(got, total) {
				t.Errorf("sent 1..%d, received %v", total, got)
			}
			if s := l.Stats(); s.Queued != 0 || s.Bytes != 0 || s.Sent != uint64(total) {
				t.Errorf("stats %+v", s)
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// mishap follows a plan, one entry for each attempt, and then works.
type mishap struct {
	to   Deliverer
	plan []string
}

func (m *mishap) Deliver(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
	what := "fine"
	if len(m.plan) > 0 {
		what, m.plan = m.plan[0], m.plan[1:]
	}
	switch what {
	case "lost":
		return wire.BatchReply{}, errBroken
	case "busy":
		return wire.BatchReply{}, &api.Error{Problem: api.Busy, What: "the inbox is full"}
	case "lost reply":
		_, _ = m.to.Deliver(ctx, b)
		return wire.BatchReply{}, errBroken
	case "late copy": // as when a proxy or a stalled connection lets go of it
		time.AfterFunc(700*time.Millisecond, func() { _, _ = m.to.Deliver(ctx, b) })
	case "hangs":
		<-ctx.Done()
		return wire.BatchReply{}, ctx.Err()
	case "hangs after":
		_, _ = m.to.Deliver(ctx, b)
		<-ctx.Done()
		return wire.BatchReply{}, ctx.Err()
	}
	return m.to.Deliver(ctx, b)
}

func TestCloseIsPromptAndSafeTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, &mishap{plan: []string{"hangs"}}, Options{CallTimeout: time.Hour})
		_ = l.Send(numbered(1, 3)...)
		synctest.Wait()
		begin := time.Now()
		_ = l.Close()
		_ = l.Close()
		if time.Since(begin) != 0 {
			t.Errorf("Close took %v", time.Since(begin))
		}
		if err := l.Send(numbered(4, 4)...); !errors.Is(err, ErrClosed) {
			t.Errorf("Send after Close: %v", err)
		}
		if s := l.Stats(); s.Dropped != 3 || s.Queued != 0 {
			t.Errorf("stats %+v, want 3 dropped", s)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for field, o := range map[string]Options{
		"MaxItems": {MaxItems: -1}, "BatchBytes": {BatchBytes: -1}, "CallTimeout": {CallTimeout: -1},
		"RetryMax": {RetryMin: time.Second, RetryMax: time.Millisecond}, "LostAfter": {LostAfter: -1},
	} {
		if _, err := New(nil, o); err == nil || !strings.Contains(err.Error(), "Options."+field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
