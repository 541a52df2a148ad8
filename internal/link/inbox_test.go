package link

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
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
	in.Forget(frontend)
	before := taken
	if _, err := accept(1, 1, "", nil); err != nil || taken == before {
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

// A batch that is meant for another daemon, which served at this address before, is
// delivered to none; one that names no receiver comes from an earlier version.
func TestMisdirected(t *testing.T) {
	in := NewInbox(master, 42)
	sequence := uint64(0)
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
		sequence++
		reply, err := in.Accept(&wire.Batch{Sender: frontend, Receiver: tc.receiver, Incarnation: 1, Sequence: sequence}, func(*wire.Batch) (string, error) {
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

// A batch that its sender meant for another process of this daemon is not taken, even if the
// sender is known here already: that process may have acted on it. One that names no process
// comes from a sender that knows none, or from an earlier version.
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

// Senders of which nothing was taken are not remembered, however many names they have: no
// caller would forget them.
func TestRefusedSendersAreNotRemembered(t *testing.T) {
	in := NewInbox(master, 42)
	for i := range 1000 {
		b := &wire.Batch{Sender: wire.Ref{Role: frontend.Role, Name: fmt.Sprint("f", i)}, Incarnation: 1, Sequence: 1}
		_, err := in.Accept(b, func(*wire.Batch) (string, error) {
			if i%2 == 0 {
				return "who are you?", nil
			}
			return "", errors.New("it is not on the membership")
		})
		if (err == nil) != (i%2 == 0) {
			t.Fatal(err)
		}
	}
	if n := in.Len(); n != 0 {
		t.Errorf("%d senders are remembered, want none", n)
	}
}

// A refused batch does not make the inbox forget its sender while another batch of it is being
// taken.
func TestRefusedBesideTaken(t *testing.T) {
	in := NewInbox(master, 42)
	batch := func(sequence uint64) *wire.Batch {
		return &wire.Batch{Sender: frontend, Incarnation: 1, Sequence: sequence}
	}
	refused, done := make(chan struct{}), make(chan error)
	_, err := in.Accept(batch(1), func(*wire.Batch) (string, error) {
		go func() {
			close(refused)
			_, err := in.Accept(batch(2), func(*wire.Batch) (string, error) { return "no", nil })
			done <- err
		}()
		<-refused
		return "", nil
	})
	if err = errors.Join(err, <-done); err != nil || in.Len() != 1 {
		t.Fatalf("%d senders are remembered, want 1; %v", in.Len(), err)
	}
	if r, err := in.Accept(batch(1), nil); err != nil || r.Sequence != 1 {
		t.Errorf("a repetition is answered %+v, %v", r, err)
	}
}

// An inbox that is full names its limit, and takes the batches of the senders that it knows.
func TestMaxSenders(t *testing.T) {
	in := NewInbox(master, 42)
	accept := func(name string, sequence uint64) error {
		_, err := in.Accept(&wire.Batch{Sender: wire.Ref{Role: frontend.Role, Name: name}, Incarnation: 1, Sequence: sequence},
			func(*wire.Batch) (string, error) { return "", nil })
		return err
	}
	for i := range MaxSenders {
		if err := accept(fmt.Sprint(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	var e *api.Error
	if err := accept("one more", 1); !errors.As(err, &e) || e.Problem != api.Busy || e.RetryAfter <= 0 || !strings.Contains(e.What, fmt.Sprint(MaxSenders)) {
		t.Errorf("one more is refused with %v", err)
	}
	if err := accept("7", 2); err != nil {
		t.Errorf("a known one is refused: %v", err)
	}
	in.Forget(wire.Ref{Role: frontend.Role, Name: "8"})
	if err := accept("one more", 1); err != nil {
		t.Errorf("after one was forgotten: %v", err)
	}
}
