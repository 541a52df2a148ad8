package nodemonitor

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// BenchmarkZeroSleeps measures a task that does nothing on one node,
// 100 at a time: launch by Thrift, report, idle notice and acknowledgement by
// NATS. The master and the frontend of the test are included.
func BenchmarkZeroSleeps(b *testing.B) {
	const slots = 100
	w := newWorld(b, true)
	n := w.start(func(c *Config) { c.Slots = slots; c.Heartbeat = time.Minute }) // no repeats
	items := make([]wire.Item, slots)
	for i := range items {
		items[i] = w.launch(int32(i), 0, attemptOf(1, int32(i)), sleepFor(0))
	}
	for b.Loop() {
		n.deliver(items...)
		w.await("all are idle and reported", func() bool { return len(w.idles) == slots && len(w.noticed) == slots })
		w.update(func() { w.idles, w.noticed = w.idles[:0], w.noticed[:0] })
		for i := range items {
			items[i].Msg.Seq += 2
			items[i].Msg.Job.Lo++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*slots), "ns/task")
}

// BenchmarkOwner is the node's own share of that: the cores, the sleep backend, the
// kept results, without the wire.
func BenchmarkOwner(b *testing.B) {
	const slots = 100
	w := newWorld(b, false)
	n, err := New(w.config(func(c *Config) { c.Slots = slots }), Deps{})
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	o := n.owner
	var ends []event
	o.post = func(e event) { ends = append(ends, e) }
	o.workers.Outbox().UseNotices(acceptingNotices{})
	o.results.UseNotices(acceptingNotices{})
	batch := &wire.Batch{Sender: w.master, Epoch: 5, Items: make([]wire.Item, slots)}
	acks := &wire.Batch{Sender: w.frontend, Acknowledged: make([]sched.AttemptID, slots)}
	for i := range batch.Items {
		batch.Items[i] = w.launch(int32(i), 0, attemptOf(1, int32(i)), sleepFor(0))
		batch.Items[i].Msg.Distributor = o.addrs.Addr(w.frontend)
	}
	b.ReportAllocs()
	for b.Loop() {
		o.handle([]event{{kind: delivered, batch: batch}})
		o.handle(ends)
		ends = ends[:0]
		for i := range batch.Items {
			m := &batch.Items[i].Msg
			acks.Acknowledged[i] = m.AttemptID()
			m.Seq += 2
			m.Job.Lo++
		}
		o.handle([]event{{kind: acknowledged, batch: acks}})
	}
	if kept := keptBy(o); kept != 0 {
		b.Fatalf("%d results are kept", kept)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*slots), "ns/task")
}

// acceptingNotices is a NATS that accepts everything.
type acceptingNotices struct{}

func (acceptingNotices) Idle(*wire.Batch) error   { return nil }
func (acceptingNotices) Report(*wire.Batch) error { return nil }
