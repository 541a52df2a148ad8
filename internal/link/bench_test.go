package link

import (
	"context"
	"testing"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// BenchmarkSend is the time from Send of a single message to its delivery: the
// hop to the sender's goroutine and back.
func BenchmarkSend(b *testing.B) {
	arrived := make(chan struct{}, 1)
	in := NewInbox(master, 1)
	l := open(b, deliverFunc(func(_ context.Context, batch *wire.Batch) (wire.BatchReply, error) {
		return in.Accept(batch, func(*wire.Batch) (string, error) {
			arrived <- struct{}{}
			return "", nil
		})
	}), Options{})
	item := numbered(1, 1)[0]
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Send(item); err != nil {
			b.Fatal(err)
		}
		<-arrived
	}
}

// BenchmarkSendOverThrift is the time from Send of a single message to its
// delivery at a peer over loopback.
func BenchmarkSendOverThrift(b *testing.B) {
	arrived := make(chan struct{}, 1)
	in := NewInbox(master, 1)
	l := open(b, overThrift(b, deliverFunc(func(_ context.Context, batch *wire.Batch) (wire.BatchReply, error) {
		return in.Accept(batch, func(*wire.Batch) (string, error) {
			arrived <- struct{}{}
			return "", nil
		})
	})), Options{})
	item := numbered(1, 1)[0]
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Send(item); err != nil {
			b.Fatal(err)
		}
		<-arrived
	}
}

// BenchmarkStreamOverThrift is the cost of a message in a stream that fills
// batches.
func BenchmarkStreamOverThrift(b *testing.B) {
	r := newReceiver(1)
	l := open(b, overThrift(b, r), Options{MaxItems: 1 << 30})
	items := numbered(1, 100)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		_ = l.Send(items...)
		if n += len(items); n%100_000 == 0 {
			waitEmpty(b, l)
		}
	}
	waitEmpty(b, l)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/message")
}
