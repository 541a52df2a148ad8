package wire_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var (
	node     = wire.Ref{Role: sched.Worker, Name: "n7"}
	master   = wire.Ref{Role: sched.Master, Name: "2"}
	frontend = wire.Ref{Role: sched.Distributor, Name: "f1"}
)

// Every message of every kind, with everything that can be set, comes back as it
// was sent, with the addresses and the arrival moved to the receiver's own.
func TestBatchRoundTrip(t *testing.T) {
	for kind := sched.Kind(1); int(kind) < sched.NumKinds; kind++ {
		t.Run(kind.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { roundTrip(t, kind) })
		})
	}
}

func roundTrip(t *rapid.T, kind sched.Kind) {
	here, there := newNames(), newNames()
	there.Addr(wire.Ref{Role: sched.Master, Name: "elsewhere"}) // so that numbers differ
	const sent, received = 50 * sched.Second, 7 * sched.Second
	b := &wire.Batch{
		Sender: node, Receiver: frontend, Address: "127.0.0.1:1", Incarnation: rapid.Int64().Draw(t, "incarnation"),
		Epoch: rapid.Uint64Max(sched.MaxEpoch).Draw(t, "epoch"), Sequence: rapid.Uint64().Draw(t, "sequence"), Acknowledged: drawAttempts(t),
		ResultNumbers: rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "numbers"), ReceiverIncarnation: rapid.Int64().Draw(t, "receiver"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		b.Items = append(b.Items, drawItem(t, kind, b, here))
	}
	data, err := wire.NewCodec(here, at(sent)).Append([]byte("kept"), b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.NewCodec(there, at(received)).Decode(bytes.TrimPrefix(data, []byte("kept")))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Items {
		want := &b.Items[i].Msg
		want.Peer, want.Distributor = translate(want.Peer, here, there), translate(want.Distributor, here, there)
		if want.Arrival != 0 {
			want.Arrival += received - sent
		}
		want.More = moved(want.More, here, there, received-sent)
		b.Items[i].Payloads = once(b.Items[i].Payloads)
	}
	if want, is := show(b), show(got); want != is {
		t.Fatalf("sent\n%s\nreceived\n%s", want, is)
	}
}

// show prints everything of a batch, nil and empty lists alike.
func show(b *wire.Batch) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%v %v %q %d %d %d %d %v %v\n", b.Sender, b.Receiver, b.Address, b.Incarnation, b.ReceiverIncarnation, b.Epoch, b.Sequence, b.Acknowledged, b.ResultNumbers)
	for i := range b.Items {
		it := &b.Items[i]
		fmt.Fprintf(&out, "%v %v %s\n", it.From, it.To, showMessage(it.Msg))
		for _, p := range it.Payloads {
			fmt.Fprintf(&out, "  %q %x %v %+v\n", p.Backend, p.Message, p.Sleep, p.Exec)
		}
		e := it.Extra
		e.Payloads = nil
		fmt.Fprintf(&out, "  %+v\n", e)
	}
	return out.String()
}

// showMessage prints what the pointer in a message points to as well.
func showMessage(m sched.Message) string {
	more := m.More
	m.More = nil
	if more == nil {
		return fmt.Sprintf("%+v", m)
	}
	return fmt.Sprintf("%+v %+v", m, *more)
}

// moved is what the receiver gets: its own addresses and its own instants.
func moved(m *sched.More, here, there *names, by sched.Time) *sched.More {
	if m == nil {
		return nil
	}
	c := *m
	c.Members, c.Probes = slices.Clone(m.Members), slices.Clone(m.Probes)
	for i := range c.Members {
		w := &c.Members[i]
		w.Worker, w.Master = translate(w.Worker, here, there), translate(w.Master, here, there)
	}
	for i := range c.Probes {
		p := &c.Probes[i]
		p.Distributor = translate(p.Distributor, here, there)
		if p.Arrival != 0 {
			p.Arrival += by
		}
	}
	return &c
}

func translate(a sched.Addr, here, there *names) sched.Addr {
	if a == (sched.Addr{}) {
		return a
	}
	r, _ := here.Ref(a)
	return there.Addr(r)
}

// once is the form equal payloads have after the wire.
func once(list []api.Payload) []api.Payload {
	for i := range list {
		if !reflect.DeepEqual(list[i], list[0]) {
			return list
		}
	}
	return list[:min(len(list), 1)]
}

func drawItem(t *rapid.T, kind sched.Kind, b *wire.Batch, here *names) wire.Item {
	it := wire.Item{From: b.Sender, To: b.Receiver}
	it.From.Slot, it.To.Slot = rapid.Int32().Draw(t, "from"), rapid.Int32().Draw(t, "to")
	drawMessage(t, &it.Msg, here)
	it.Msg.Kind = kind
	tasks := int(it.Msg.Count)
	it.Extra = wire.Extra{
		JobName: rapid.String().Draw(t, "job name"), User: "u", FrontendAddress: "127.0.0.1:3", SchedulerAddress: "127.0.0.1:4",
		Trace:   api.Trace{Traceparent: rapid.String().Draw(t, "parent"), Tracestate: rapid.String().Draw(t, "state")},
		Elapsed: time.Duration(rapid.Int64().Draw(t, "elapsed")), Suspended: time.Duration(rapid.Int64().Draw(t, "suspended")), Tail: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "tail"),
		Started: drawInstant(t), Finished: drawInstant(t), Secret: rapid.Int64().Draw(t, "secret"),
		ReportKey: launchsecret.JobKey{Hi: rapid.Uint64().Draw(t, "key hi"), Lo: rapid.Uint64().Draw(t, "key lo")},
	}
	if rapid.Bool().Draw(t, "with payloads") {
		it.Payloads = drawPayloads(t, tasks)
	}
	if rapid.Bool().Draw(t, "with ids") {
		it.TaskIDs = rapid.SliceOfN(rapid.String(), max(tasks, 1), max(tasks, 1)).Draw(t, "ids")
	}
	return it
}

func drawInstant(t *rapid.T) time.Time {
	if n := rapid.Int64().Draw(t, "instant"); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

func drawPayloads(t *rapid.T, tasks int) []api.Payload {
	draw := func() api.Payload {
		switch rapid.IntRange(0, 2).Draw(t, "backend") {
		case 0:
			return api.Payload{Backend: api.BackendApp, Message: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "message")}
		case 1:
			return api.Payload{Backend: api.BackendSleep, Sleep: time.Duration(rapid.Int64().Draw(t, "sleep"))}
		default:
			return api.Payload{Backend: api.BackendExec, Stage: drawStage(t), Exec: &api.Exec{
				Argv: rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "argv"),
				Env:  rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "env"), Dir: rapid.String().Draw(t, "dir"),
			}}
		}
	}
	if tasks > 1 && rapid.Bool().Draw(t, "each its own") {
		out := make([]api.Payload, tasks)
		for i := range out {
			out[i] = draw()
		}
		return out
	}
	return slices.Repeat([]api.Payload{draw()}, max(tasks, 1))
}

func drawStage(t *rapid.T) (list []api.StagedFile) {
	for range rapid.IntRange(0, 3).Draw(t, "staged files") {
		list = append(list, api.StagedFile{
			Name: rapid.String().Draw(t, "name"), SHA256: rapid.StringN(0, 64, 64).Draw(t, "sum"), Size: rapid.Int64().Draw(t, "size"), Executable: rapid.Bool().Draw(t, "executable"),
		})
	}
	return list
}

func drawAttempts(t *rapid.T) []sched.AttemptID {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sched.AttemptID {
		return sched.AttemptID{
			Job:  sched.JobID{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")},
			Task: rapid.Int32().Draw(t, "task"), Attempt: rapid.Int32().Draw(t, "attempt"),
		}
	}), 0, 3).Draw(t, "attempts")
}

// drawMessage fills every field of a message, those added later too: a field
// that the translation forgets fails the round trip.
func drawMessage(t *rapid.T, m *sched.Message, here *names) {
	for field, value := range reflect.ValueOf(m).Elem().Fields() {
		drawField(t, field.Name, value, here)
	}
	m.First = rapid.Int32Range(0, api.MaxTasks-5).Draw(t, "First")
	m.Count = rapid.Int32Range(0, 5).Draw(t, "Count")
	m.Total = rapid.Int32Range(0, api.MaxTasks).Draw(t, "Total")
	m.Attempt = rapid.Int32Range(0, 1<<30).Draw(t, "Attempt")
	m.Epoch = rapid.Uint64Max(sched.MaxEpoch).Draw(t, "Epoch")
	m.Arrival = sched.Time(rapid.Int64Range(1, int64(5*sched.Second)).Draw(t, "Arrival"))
}

func drawField(t *rapid.T, name string, f reflect.Value, here *names) {
	switch p := f.Addr().Interface().(type) {
	case **sched.More:
		*p = drawMore(t, here)
	case *sched.Kind:
	case *sched.Class:
		*p = sched.Class(rapid.IntRange(0, sched.NumClasses-1).Draw(t, name))
	case *sched.Outcome:
		*p = sched.Outcome(rapid.IntRange(0, int(sched.Yielded)).Draw(t, name))
	case *sched.Marks:
		*p = sched.Marks(rapid.IntRange(0, int(sched.AllMarks)).Draw(t, name))
	case *sched.Addr:
		if rapid.Bool().Draw(t, name) {
			role := sched.Role(rapid.IntRange(1, int(sched.Worker)).Draw(t, "role"))
			*p = here.Addr(wire.Ref{Role: role, Name: rapid.String().Draw(t, "name"), Slot: rapid.Int32().Draw(t, "slot")})
		}
	case *sched.JobID:
		*p = sched.JobID{Hi: rapid.Uint64().Draw(t, name), Lo: rapid.Uint64().Draw(t, name)}
	case *[]sched.AttemptID:
		*p = drawAttempts(t)
	case *[]string:
		*p = rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, name)
	case *bool:
		*p = rapid.Bool().Draw(t, name)
	case *string:
		*p = rapid.String().Draw(t, name)
	case *uint8:
		*p = rapid.Uint8().Draw(t, name)
	case *uint64:
		*p = rapid.Uint64().Draw(t, name)
	case *int32:
		*p = rapid.Int32().Draw(t, name)
	case *sched.Time:
		*p = sched.Time(rapid.Int64().Draw(t, name))
	case *int64:
		*p = rapid.Int64().Draw(t, name)
	default:
		drawParts(t, name, f, here)
	}
}

// drawParts fills a struct field by field, and a list of up to three.
func drawParts(t *rapid.T, name string, f reflect.Value, here *names) {
	switch f.Kind() {
	case reflect.Struct:
		for field, value := range f.Fields() {
			drawField(t, field.Name, value, here)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, name)
		f.Set(reflect.MakeSlice(f.Type(), n, n))
		for i := range n {
			drawField(t, name, f.Index(i), here)
		}
	default:
		t.Fatalf("no way to draw the field %s of type %s", name, f.Type())
	}
}

// drawMore fills every field that only some policies send; often it is nil.
func drawMore(t *rapid.T, here *names) *sched.More {
	if rapid.Bool().Draw(t, "no more") {
		return nil
	}
	m := &sched.More{}
	for field, value := range reflect.ValueOf(m).Elem().Fields() {
		if field.Name != "Shares" && field.Name != "HalfLife" { // only the shell sets these, they are never sent
			drawField(t, field.Name, value, here)
		}
	}
	for i := range m.Probes {
		m.Probes[i].Count = rapid.Int32Range(0, api.MaxTasks).Draw(t, "Count")
		m.Probes[i].Arrival = sched.Time(rapid.Int64Range(0, int64(5*sched.Second)).Draw(t, "Arrival"))
	}
	for i := range m.Slots {
		m.Slots[i].ID.Task = rapid.Int32Range(0, api.MaxTasks).Draw(t, "Task")
		m.Slots[i].ID.Attempt = rapid.Int32Range(0, 1<<30).Draw(t, "Attempt")
	}
	return m
}
