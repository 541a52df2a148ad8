package wire_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// launches is a batch as a busy master sends it to one node.
func launches(n int, dir *names) *wire.Batch {
	b := &wire.Batch{Sender: master, Receiver: node, Address: "127.0.0.1:20510", Incarnation: 7, Epoch: 3, Sequence: 99}
	owner := dir.Addr(frontend)
	for i := range n {
		it := wire.Item{From: b.Sender, To: b.Receiver}
		it.To.Slot = int32(i)
		it.Msg = sched.Message{
			Kind: sched.Launch, Job: sched.NewJobID("f1", "42"), First: int32(i), Attempt: 1, Distributor: owner,
			Estimate: 100 * sched.Millisecond, Seq: uint64(i), Epoch: 3,
		}
		it.Extra = wire.Extra{
			JobName: "01JD3ZQ0V8", FrontendAddress: "127.0.0.1:20511", SchedulerAddress: "127.0.0.1:20503",
			Payloads: []api.Payload{{Backend: api.BackendSleep, Sleep: 1}},
			Trace:    api.Trace{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		}
		b.Items = append(b.Items, it)
	}
	return b
}

func BenchmarkEncode33Launches(b *testing.B) {
	dir := newNames()
	codec := wire.NewCodec(dir, at(0))
	batch := launches(33, dir)
	data, err := codec.Append(nil, batch)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if data, err = codec.Append(data[:0], batch); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode33Launches(b *testing.B) {
	dir := newNames()
	codec := wire.NewCodec(dir, at(0))
	data, err := codec.Append(nil, launches(33, dir))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseAddress(b *testing.B) {
	for _, s := range []string{"127.0.0.1:20101", "worker7/[::ffff:10.0.0.7]:20101"} {
		b.Run(fmt.Sprint(len(s)), func(b *testing.B) {
			for b.Loop() {
				if _, err := wire.ParseAddress(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
