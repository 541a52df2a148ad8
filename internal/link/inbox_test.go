package link

import (
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestInbox(t *testing.T) {
	in := NewInbox(master, 42)
	taken := 0
	accept := func(incarnation int64, seq uint64, problem string, fail error) (wire.BatchReply, error) {
		return in.Accept(&wire.Batch{Sender: frontend, Incarnation: incarnation, Sequence: seq},
			func(*wire.Batch) (string, error) { taken++; return problem, fail })
	}
	full := errors.New("the inbox is full")
	for i, tc := range []struct {
		incarnation int64
		seq         uint64
		problem     string
		err         error
		take        bool   // whether it reaches the daemon
		last        uint64 // the reply's sequence
		answer      string // the reply's problem
	}{
		{1, 1, "", nil, true, 1, ""},
		{1, 1, "", nil, false, 1, ""},
		{1, 2, "", full, true, 1, ""},            // nothing is remembered
		{1, 2, "", nil, true, 2, ""},             // so it is taken when it comes again
		{1, 3, "hello?", nil, true, 2, "hello?"}, // refused, and left out by the sender
		{1, 4, "", nil, true, 4, ""},
		{1, 2, "", nil, false, 4, ""},            // a late repeat
		{2, 1, "hello?", nil, true, 0, "hello?"}, // a new process that is not known yet
		{1, 5, "", nil, true, 5, ""},             // does not end the old one
		{2, 2, "", nil, true, 2, ""},
		{1, 6, "", nil, false, 0, "started again"}, // the old one is over
		{3, 1, "", nil, true, 1, ""},
		{2, 3, "", nil, false, 0, "started again"},
		{3, 2, "", nil, true, 2, ""},
	} {
		before := taken
		reply, err := accept(tc.incarnation, tc.seq, tc.problem, tc.err)
		if !errors.Is(err, tc.err) || (taken > before) != tc.take || reply.Sequence != tc.last ||
			reply.Incarnation != 42 || (reply.Problem != "") != (tc.answer != "") || !strings.Contains(reply.Problem, tc.answer) {
			t.Errorf("step %d: %+v, %v, taken %v; want %+v", i, reply, err, taken > before, tc)
		}
	}
	if got := in.Repeated(); got != 2 {
		t.Errorf("%d repeats counted, want 2", got)
	}
	in.Forget(frontend)
	if _, err := accept(1, 1, "", nil); err != nil || in.Repeated() != 2 {
		t.Error("a forgotten sender is not new")
	}
}

func TestSendersDoNotShareSequences(t *testing.T) {
	in := NewInbox(master, 1)
	taken := 0
	for _, from := range []wire.Ref{frontend, master, {Role: frontend.Role, Name: "f2"}, {Role: 3, Name: "n", Slot: 4}, {Role: 3, Name: "n", Slot: 5}} {
		_, _ = in.Accept(&wire.Batch{Sender: from, Incarnation: 1, Sequence: 1}, func(*wire.Batch) (string, error) {
			taken++
			return "", nil
		})
	}
	if taken != 4 {
		t.Errorf("%d batches taken, want 4: the slots of a node are one sender", taken)
	}
}

// A batch that is meant for another daemon, which served at this address before, reaches
// nobody; one that names no receiver comes from an earlier version.
func TestMisdirected(t *testing.T) {
	in := NewInbox(master, 42)
	for _, tc := range []struct {
		receiver wire.Ref
		taken    bool
	}{
		{wire.Ref{Role: master.Role, Name: "g2"}, false},
		{wire.Ref{Role: frontend.Role, Name: master.Name}, false},
		{wire.Ref{Role: master.Role, Name: master.Name, Slot: 3}, true},
		{wire.Ref{}, true},
	} {
		taken := false
		reply, err := in.Accept(&wire.Batch{Sender: frontend, Receiver: tc.receiver, Incarnation: 1, Sequence: 1 + in.sender(frontend).last}, func(*wire.Batch) (string, error) {
			taken = true
			return "", nil
		})
		if err != nil || taken != tc.taken || (reply.Problem == "") != tc.taken || reply.Incarnation != 42 {
			t.Errorf("a batch for %v is answered %+v, %v; taken: %v", tc.receiver, reply, err, taken)
		}
	}
	if n := in.Misdirected(); n != 2 {
		t.Errorf("%d were counted, want 2", n)
	}
}

// What a sender meant for another process of this daemon is not taken, also when the sender is
// known here already: that process may have acted on it. One that names no process comes from a
// sender that knows none, or from an earlier version.
func TestMeantForAnotherProcess(t *testing.T) {
	in := NewInbox(master, 42)
	for i, tc := range []struct {
		process int64
		taken   bool
	}{{0, true}, {41, false}, {42, true}, {43, false}} {
		taken := false
		reply, err := in.Accept(&wire.Batch{Sender: frontend, Receiver: master, ReceiverIncarnation: tc.process, Incarnation: 1, Sequence: uint64(i + 1)}, func(*wire.Batch) (string, error) { //nolint:gosec // below 4
			taken = true
			return "", nil
		})
		if err != nil || taken != tc.taken || reply.Problem != "" || reply.Incarnation != 42 || (reply.Sequence != 0) != tc.taken {
			t.Errorf("a batch for process %d is answered %+v, %v; taken: %v", tc.process, reply, err, taken)
		}
	}
}
