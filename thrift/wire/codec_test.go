package wire_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Instants of two processes are never compared: an arrival keeps its distance
// from now, whatever the clocks show.
func TestArrivalTravelsAsAge(t *testing.T) {
	const second = sched.Second
	for _, c := range []struct{ sent, arrival, received, want sched.Time }{
		{sent: 100 * second, arrival: 90 * second, received: 40 * second, want: 30 * second},
		{sent: 100 * second, arrival: 90 * second, received: 4 * second, want: -6 * second},
		{sent: 5 * second, arrival: 5 * second, received: 9 * second, want: 9 * second}, // just now
		{sent: 5 * second, arrival: 6 * second, received: 9 * second, want: 9 * second}, // no age below zero
		{sent: 20 * second, arrival: 10 * second, received: 10 * second, want: -1},      // 0 would mean none
		{sent: 20 * second, arrival: 0, received: 10 * second, want: 0},                 // none
	} {
		dir := newNames()
		b := oneItem(sched.Message{Kind: sched.Tasks, Count: 1, Arrival: c.arrival})
		data, err := wire.NewCodec(dir, at(c.sent)).Append(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.NewCodec(dir, at(c.received)).Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if a := got.Items[0].Msg.Arrival; a != c.want {
			t.Errorf("%+v: arrived %d", c, a)
		}
	}
}

func oneItem(m sched.Message) *wire.Batch {
	return &wire.Batch{Sender: frontend, Receiver: master, Items: []wire.Item{{From: frontend, To: master, Msg: m}}}
}

func TestEncodeRefuses(t *testing.T) {
	big := make([]byte, api.MaxPayload)
	for name, c := range map[string]struct {
		change func(*wire.Batch)
		want   string
	}{
		"no kind":         {func(b *wire.Batch) { b.Items[0].Msg.Kind = sched.KindNone }, "kind"},
		"a kind too many": {func(b *wire.Batch) { b.Items[0].Msg.Kind = sched.Kind(sched.NumKinds) }, "kind"},
		"unknown core":    {func(b *wire.Batch) { b.Items[0].Msg.Distributor = sched.Addr{Role: sched.Master, ID: 9} }, "master 9"},
		"other sender":    {func(b *wire.Batch) { b.Items[0].From = node }, "the batch from"},
		"other receiver":  {func(b *wire.Batch) { b.Items[0].To.Name = "3" }, "the batch from"},
		"backend":         {func(b *wire.Batch) { b.Items[0].Payloads = []api.Payload{{Backend: "spark"}} }, `"spark"`},
		"class":           {func(b *wire.Batch) { b.Items[0].Msg.Class = 2 }, "class"},
		"payloads":        {func(b *wire.Batch) { b.Items[0].Payloads = []api.Payload{{Sleep: 1}, {Sleep: 2}, {}} }, "3 payloads for 2"},
		"ids":             {func(b *wire.Batch) { b.Items[0].TaskIDs = []string{"a"} }, "1 task ids for 2"},
		"tasks":           {func(b *wire.Batch) { b.Items[0].Msg.First = api.MaxTasks - 1 }, "100000"},
		"size": {func(b *wire.Batch) {
			for range 5 {
				it := b.Items[0]
				it.Payloads = []api.Payload{{Message: big}}
				b.Items = append(b.Items, it)
			}
		}, "limit of 4194304"},
	} {
		b := oneItem(sched.Message{Kind: sched.Tasks, Count: 2})
		c.change(b)
		data, err := wire.NewCodec(newNames(), at(0)).Append([]byte("x"), b)
		var e *api.Error
		if !asError(err, &e) || !strings.Contains(e.What, c.want) || e.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
		if string(data) != "x" {
			t.Errorf("%s: %d bytes were appended", name, len(data))
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	codec := wire.NewCodec(newNames(), at(0))
	whole, err := codec.Append(nil, oneItem(sched.Message{Kind: sched.Launch, Count: 2, Total: 3}))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":     {nil, "no batch"},
		"cut":         {whole[:len(whole)-1], "no batch"},
		"oversized":   {make([]byte, wire.MaxBatchBytes+1), "limit of 4194304"},
		"kind":        {bytes.Replace(whole, []byte{3, 0, 1, 7}, []byte{3, 0, 1, 0x85}, 1), "kind -123"},
		"epoch":       {bytes.Replace(whole, []byte{10, 0, 5, 0, 0}, []byte{10, 0, 5, 0xff, 0xff}, 1), "epoch 18446462598732840960 is above 9007199254740992"},
		"count":       {bytes.Replace(whole, []byte{8, 0, 12, 0, 0, 0, 2}, []byte{8, 0, 12, 0x7f, 0, 0, 2}, 1), "outside the 100000"},
		"total":       {bytes.Replace(whole, []byte{8, 0, 36, 0, 0, 0, 3}, []byte{8, 0, 36, 0xff, 0, 0, 3}, 1), "total of -16777213 tasks"},
		"endless":     {[]byte{15, 0, 7, 12, 0x7f, 0xff, 0xff, 0xff}, "no batch"},
		"another one": {[]byte("GET / HTTP/1.1\r\n\r\n"), "no batch"},
	} {
		b, err := codec.Decode(c.data)
		var e *api.Error
		if !asError(err, &e) || !strings.Contains(e.What, c.want) || e.Next == "" {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
}

// A message of a kind that only a later version knows is left out and reported; the others
// of its batch are received, so that the sender need not send the batch again.
func TestUnknownKind(t *testing.T) {
	codec := wire.NewCodec(newNames(), at(0))
	b := oneItem(sched.Message{Kind: sched.Launch, First: 1})
	b.Items = append(b.Items, b.Items[0], b.Items[0])
	b.Items[1].Msg.Kind, b.Items[2].Msg.First = sched.Kill, 3
	data, err := codec.Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	type report struct {
		sender wire.Ref
		kind   int8
	}
	var reports []report
	codec.OnUnknown(func(sender wire.Ref, kind int8) { reports = append(reports, report{sender, kind}) })
	got, err := codec.Decode(bytes.Replace(data, []byte{3, 0, 1, 8}, []byte{3, 0, 1, 60}, 1))
	if err != nil || len(got.Items) != 2 || got.Items[0].Msg.First != 1 || got.Items[1].Msg.First != 3 {
		t.Errorf("a batch with a message of kind 60 is received as %+v, %v", got, err)
	}
	if !slices.Equal(got.UnknownKinds, []int8{60}) || len(wire.Kinds(got.UnknownKinds)) != 0 || !slices.Equal(wire.Kinds([]int8{7, 8, 25}), []sched.Kind{sched.Launch, sched.Kill}) {
		t.Errorf("the unknown kinds are %v, known here are %v", got.UnknownKinds, wire.Kinds(got.UnknownKinds))
	}
	if want := []report{{b.Sender.Daemon(), 60}}; !slices.Equal(reports, want) {
		t.Errorf("reported are %v, want %v", reports, want)
	}
}

// A launch by late binding carries the number of the job's tasks that still wait,
// and names its own.
func TestLaunchOfOneAmongOthers(t *testing.T) {
	b := oneItem(sched.Message{Kind: sched.Launch, First: 3, Count: 5, Attempt: 1})
	b.Items[0].TaskIDs, b.Items[0].Payloads = []string{"d"}, []api.Payload{{Backend: api.BackendSleep, Sleep: 3}}
	codec := wire.NewCodec(newNames(), at(0))
	data, err := codec.Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := codec.Decode(data)
	if err != nil || got.Items[0].Msg.Count != 5 || got.Items[0].TaskID(3, 0) != "d" || got.Items[0].Payload(0).Sleep != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Messages that only the shell around a core may send can be recorded; a peer may not send them.
func TestCheckPeer(t *testing.T) {
	allowed := map[sched.Kind]bool{
		sched.Tasks: true, sched.Drop: true, sched.Serves: true, sched.Returned: true, sched.AttemptLost: true, sched.Holding: true,
		sched.Launch: true, sched.Kill: true, sched.SetReserved: true, sched.Idle: true, sched.Refused: true, sched.Report: true,
		sched.Probe: true, sched.CancelProbe: true, sched.ProbeRejected: true, sched.GetTask: true, sched.NoTask: true, sched.Started: true,
		sched.Steal: true, sched.Stolen: true, sched.Rotated: true, sched.LoadShare: true, sched.Beat: true,
		sched.Spare: true, sched.Preempt: true, sched.Continue: true, sched.Yield: true, sched.Reclass: true, sched.GangLoad: true,
	}
	for kind := sched.Kind(0); int(kind) <= sched.NumKinds; kind++ {
		if err := oneItem(sched.Message{Kind: kind}).CheckPeer(); (err == nil) != allowed[kind] {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// A list that is too long, or that holds impossible values, is refused with a reason.
func TestMoreIsChecked(t *testing.T) {
	codec := wire.NewCodec(newNames(), at(0))
	for want, more := range map[string]sched.More{
		"more than the limit of 100000": {Bits: make([]uint64, wire.MaxListed+1)},
		"class 7":                       {Probes: []sched.Probed{{}, {Class: 7}}},
		"-1 tasks":                      {Probes: []sched.Probed{{Count: -1}}},
		"its attempt 1 of 1 is task 0#-1, which is impossible":     {Slots: []sched.Attained{{ID: sched.AttemptID{Attempt: -1}}}},
		"its attempt 1 of 1 is task 100001#0, which is impossible": {Slots: []sched.Attained{{ID: sched.AttemptID{Task: 100_001}}}},
	} {
		it := oneItem(sched.Message{Kind: sched.Stolen, More: &more})
		if _, err := codec.Append(nil, it); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A daemon that knows no staged files reads of their process a program that exists nowhere, and not
// the one that is to run with them.
func TestStagedProcessesAreHidden(t *testing.T) {
	staged := []api.StagedFile{{Name: "data", SHA256: "1", Size: 2, Executable: true}}
	it := wire.Item{From: frontend, To: node, Msg: sched.Message{Kind: sched.Launch, Count: 1}, Extra: wire.Extra{Payloads: []api.Payload{{
		Backend: api.BackendExec, Stage: staged, Exec: &api.Exec{Argv: []string{"rm", "-r", "old"}, Env: []string{"A=b"}, Script: []byte("#!/bin/sh")},
	}}}}
	codec := wire.NewCodec(newNames(), at(0))
	raw, err := codec.Append(nil, &wire.Batch{Sender: frontend, Receiver: node, Items: []wire.Item{it}})
	must(t, err)
	sent := peer.NewTBatch()
	must(t, sent.Read(context.Background(), thrift.NewTBinaryProtocolConf(&thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(raw)}, nil)))
	p := sent.Messages[0].Payloads[0]
	if e := p.Process; len(e.Argv) != 1 || !strings.Contains(e.Argv[0], "upgrade") || len(e.Script) > 0 {
		t.Errorf("an earlier version would run %+v", e)
	}
	got, err := codec.Decode(raw)
	must(t, err)
	equal(t, "payloads", got.Items[0].Payloads, it.Payloads)
}

func TestExtraOfRange(t *testing.T) {
	one := wire.Extra{Payloads: []api.Payload{{Sleep: 7}}}
	each := wire.Extra{Payloads: []api.Payload{{Sleep: 7}, {Sleep: 8}}, TaskIDs: []string{"a", "b"}}
	if one.Payload(5).Sleep != 7 || each.Payload(1).Sleep != 8 || each.Payload(2).Sleep != 0 {
		t.Error("a task got another's payload")
	}
	if one.TaskID(10, 3) != "13" || each.TaskID(10, 1) != "b" {
		t.Error("a task got another's name")
	}
}
