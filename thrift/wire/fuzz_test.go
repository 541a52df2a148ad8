package wire_test

import (
	"net"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Whatever the bytes: no panic, and a batch that was read can be written and read
// again unchanged.
func FuzzDecode(f *testing.F) {
	dir := newNames()
	for _, n := range []int{0, 1, 3} {
		data, err := wire.NewCodec(dir, at(0)).Append(nil, launches(n, dir))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	rivals := &wire.Batch{Sender: node, Receiver: frontend, Address: "127.0.0.1:1", Items: []wire.Item{{From: node, To: frontend}}}
	rivals.Items[0].Msg = sched.Message{Kind: sched.Stolen, More: &sched.More{
		Members: []sched.Member{{Worker: dir.Addr(node), Master: dir.Addr(master)}},
		Probes:  []sched.Probed{{Distributor: dir.Addr(frontend), Class: sched.Long, Count: 3, App: "a", Arrival: 1}},
		Bits:    []uint64{1 << 63}, Stamp: 5, Slots: []sched.Attained{{Service: 7, Running: true}},
	}}
	data, err := wire.NewCodec(dir, at(0)).Append(nil, rivals)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{})
	f.Add([]byte{15, 0, 7, 12, 0x7f, 0xff, 0xff, 0xff})                             // a list of two thousand million messages
	f.Add([]byte("\x0f\x00\a0\x00\x00\x00\x01\x03\x00\x01A\f\x00\x11\x00\x00\x00")) // an owner without a name
	f.Fuzz(func(t *testing.T, data []byte) {
		const now = 5 * sched.Second
		codec := wire.NewCodec(newNames(), at(now))
		first, err := codec.Decode(data)
		if err != nil {
			return
		}
		again, err := codec.Append(nil, first)
		if err != nil {
			t.Fatalf("it was read and cannot be written: %v\n%s", err, show(first))
		}
		second, err := codec.Decode(again)
		if err != nil {
			t.Fatalf("it was written and cannot be read: %v", err)
		}
		for i := range first.Items {
			first.Items[i].Payloads = once(first.Items[i].Payloads)
		}
		if a, b := show(first), show(second); a != b {
			t.Fatalf("first\n%s\nsecond\n%s", a, b)
		}
	})
}

// An address that is accepted has one spelling, which can be dialled.
func FuzzParseAddress(f *testing.F) {
	for _, c := range addresses {
		f.Add(c.in)
	}
	for _, in := range badAddresses {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := wire.ParseAddress(in)
		if err != nil {
			if e := new(api.Error); !asError(err, &e) || e.Next == "" {
				t.Fatalf("%q: the refusal %v says not what to do", in, err)
			}
			return
		}
		host, port, err := net.SplitHostPort(out)
		if err != nil || host == "" || port == "" || strings.ContainsAny(host, "/[] ") {
			t.Fatalf("%q became %q", in, out)
		}
		if again, err := wire.ParseAddress(out); err != nil || again != out {
			t.Fatalf("%q became %q, which becomes %q (%v)", in, out, again, err)
		}
	})
}
