package wire_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Cutting loses, repeats and reorders no task, and every run fits its limit when
// written.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 6000
		dir := newNames()
		items := drawTaskItems(t)
		codec := wire.NewCodec(dir, at(0))
		var want, got []string
		for i := range items {
			want = append(want, listTasks(&items[i])...)
		}
		for _, run := range wire.Cut(items, limit) {
			data, err := codec.Append(nil, &wire.Batch{Sender: frontend, Receiver: master, Address: "127.0.0.1:1", Items: run})
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > limit {
				t.Fatalf("a run of %d messages has %d bytes", len(run), len(data))
			}
			for i := range run {
				got = append(got, listTasks(&run[i])...)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("of\n%v\nremain\n%v", want, got)
		}
	})
}

func drawTaskItems(t *rapid.T) []wire.Item {
	items := make([]wire.Item, rapid.IntRange(0, 12).Draw(t, "items"))
	for i := range items {
		count := rapid.Int32Range(1, 20).Draw(t, "count")
		items[i] = wire.Item{From: frontend, To: master, Msg: sched.Message{Kind: sched.Tasks, Count: count, First: int32(100 * i)}}
		if rapid.Bool().Draw(t, "payloads") {
			for k := range count {
				items[i].Payloads = append(items[i].Payloads, api.Payload{Message: make([]byte, rapid.IntRange(0, 3000).Draw(t, "bytes")+int(k))})
			}
		}
		if rapid.Bool().Draw(t, "ids") {
			for k := range count {
				items[i].TaskIDs = append(items[i].TaskIDs, fmt.Sprintf("%d.%d", i, k))
			}
		}
	}
	return items
}

func listTasks(it *wire.Item) (list []string) {
	for k := range int(it.Msg.Count) {
		list = append(list, fmt.Sprintf("%d %s %d", int(it.Msg.First)+k, it.TaskID(it.Msg.First, k), len(it.Payload(k).Message)))
	}
	return list
}

// One task with the largest message there may be always fits a batch.
func TestCutKeepsLargestTask(t *testing.T) {
	it := wire.Item{From: frontend, To: master, Msg: sched.Message{Kind: sched.Tasks, Count: 5}}
	for range 5 {
		it.Payloads = append(it.Payloads, api.Payload{Message: make([]byte, api.MaxPayload)})
	}
	it.Payloads[4].Message[0] = 1 // not all equal
	codec := wire.NewCodec(newNames(), at(0))
	runs := wire.Cut([]wire.Item{it}, wire.MaxBatchBytes)
	if len(runs) != 2 {
		t.Fatalf("%d runs", len(runs))
	}
	for _, run := range runs {
		if _, err := codec.Append(nil, &wire.Batch{Sender: frontend, Receiver: master, Items: run}); err != nil {
			t.Error(err)
		}
	}
}
