package wire_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
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

// Size is an upper bound for every message, each field of which is set, and for
// every part of it that can grow.
func TestSizeIsABound(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, dir *names, it wire.Item) {
		b := &wire.Batch{Sender: node, Receiver: frontend}
		empty, err1 := wire.NewCodec(dir, at(0)).Append(nil, b)
		b.Items = []wire.Item{it}
		full, err2 := wire.NewCodec(dir, at(0)).Append(nil, b)
		if n := len(full) - len(empty); err1 != nil || err2 != nil || n > it.Size() {
			t.Fatalf("%d bytes, said to be at most %d: %v %v", n, it.Size(), err1, err2)
		}
	}
	dir, all := newNames(), filled[wire.Item]()
	all.From, all.To = wire.Ref{Role: node.Role, Name: node.Name, Slot: 1}, frontend
	all.Msg.Kind, all.Msg.Count = sched.Launch, 2
	longest := strings.Repeat("n", api.MaxKeyBytes)
	all.Msg.Peer = dir.Addr(wire.Ref{Role: sched.Worker, Name: longest, Slot: 1})
	all.Msg.Distributor = dir.Addr(wire.Ref{Role: sched.Worker, Name: longest, Slot: 2})
	listed := sched.Member{Worker: all.Msg.Peer, Master: all.Msg.Distributor}
	all.Msg.More.Members = []sched.Member{listed, listed}
	for i := range all.Msg.More.Probes {
		all.Msg.More.Probes[i].Distributor = all.Msg.Distributor
	}
	all.Payloads[0].Backend, all.Payloads[1].Backend = api.BackendExec, api.BackendSleep
	check(t, dir, all)
	rapid.Check(t, func(t *rapid.T) {
		dir := newNames()
		check(t, dir, drawItem(t, sched.Launch, &wire.Batch{Sender: node, Receiver: frontend}, dir))
	})
	more := func(m sched.More) func(*wire.Item) { return func(it *wire.Item) { it.Msg.More = &m } }
	for name, grow := range map[string]func(*wire.Item){
		"members":  more(sched.More{Members: slices.Repeat([]sched.Member{listed}, 500)}),
		"probes":   more(sched.More{Probes: slices.Repeat(all.Msg.More.Probes, 250)}),
		"bits":     more(sched.More{Bits: filledList[uint64](500)}),
		"attempts": more(sched.More{Slots: filledList[sched.Attained](500)}),
		"kept":     func(it *wire.Item) { it.Msg.Kept = filledList[sched.AttemptID](500) },
		"serves":   func(it *wire.Item) { it.Msg.Serves = filledList[string](500) },
		"ids":      func(it *wire.Item) { it.TaskIDs = filledList[string](500) },
		"payloads": func(it *wire.Item) {
			it.Payloads = filledList[api.Payload](500)
			for i := range it.Payloads {
				it.Payloads[i].Backend = api.BackendExec
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			it := wire.Item{From: node, To: frontend, Msg: sched.Message{Kind: sched.Tasks, Count: 500}}
			grow(&it)
			check(t, dir, it)
		})
	}
}

// filledList makes n elements in which every field is set, no two alike.
func filledList[T any](n int) []T {
	list, next := make([]T, n), 0
	for i := range list {
		fill(reflect.ValueOf(&list[i]).Elem(), &next)
	}
	return list
}
