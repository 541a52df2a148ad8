package registration_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/registration"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errSilent = errors.New("no answer")

// world is a node and its master. The master's answers are taken from lists; without one
// it accepts.
type world struct {
	t         *testing.T
	mu        sync.Mutex // held by the body of a test, except while it lets time pass
	log       []string   // what the master received
	hellos    []wire.HelloReply
	snapshots []wire.SnapshotReply
	silent    bool
	failed    error
	sequence  uint64 // of the last hello or snapshot
}

// count checks the number of a hello or snapshot. It needs the lock.
func (w *world) count(sequence uint64) {
	if w.sequence++; sequence != w.sequence {
		w.t.Errorf("hello or snapshot %d has the number %d", w.sequence, sequence)
	}
}

func (w *world) Hello(fresh bool) (*wire.Hello, bool) {
	return &wire.Hello{Sender: wire.Ref{Role: sched.Worker, Name: "n"}, Group: map[bool]int{true: 1}[fresh]}, true
}

func (w *world) Accepted(r *wire.HelloReply) (err error, ok bool) {
	if r.Group != 0 {
		return errors.New("its answer does not fit"), true
	}
	return nil, true
}

func (w *world) Snapshot() (*wire.Snapshot, bool) { return &wire.Snapshot{}, true }

// registrar is the master's side of the world.
type registrar struct{ *world }

func (w registrar) Hello(_ context.Context, h *wire.Hello) (wire.HelloReply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count(h.Sequence)
	w.log = append(w.log, map[int]string{0: "hello", 1: "fresh hello"}[h.Group])
	if w.silent {
		return wire.HelloReply{}, errSilent
	}
	if len(w.hellos) == 0 {
		return wire.HelloReply{Accepted: true, Incarnation: 5, Epoch: 1}, nil
	}
	r := w.hellos[0]
	w.world.hellos = w.hellos[1:]
	return r, nil
}

func (w registrar) Snapshot(_ context.Context, s *wire.Snapshot) (wire.SnapshotReply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count(s.Sequence)
	w.log = append(w.log, "snapshot")
	if w.silent {
		return wire.SnapshotReply{}, errSilent
	}
	if len(w.snapshots) == 0 {
		return wire.SnapshotReply{Known: true, Incarnation: 5, Epoch: 1}, nil
	}
	r := w.snapshots[0]
	w.world.snapshots = w.snapshots[1:]
	return r, nil
}

// run runs a registration in a bubble for a while: heartbeats are 10 s, pauses 1 s, after
// refusals 2 s, 3 s and so on.
func run(t *testing.T, body func(w *world, r *registration.Registration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		r := registration.New(registration.Config{
			Master: registrar{w}, Source: w, Heartbeat: 10 * time.Second, Patience: time.Second, Log: slog.New(slog.DiscardHandler),
			Retry:        func(int) time.Duration { return time.Second },
			AfterRefusal: func(refusals int) time.Duration { return time.Duration(1+refusals) * time.Second },
			Fail:         func(err error) { w.mu.Lock(); defer w.mu.Unlock(); w.failed = err },
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		w.mu.Lock() // the first hello waits for what the body answers
		go func() { defer close(ended); r.Run(ctx) }()
		body(w, r)
		w.mu.Unlock()
		stop()
		<-ended
		r.Withdraw(&wire.Snapshot{})
	})
}

// expect lets time pass and compares what the master received in it.
func (w *world) expect(d time.Duration, want ...string) {
	w.t.Helper()
	w.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	w.mu.Lock()
	if !slices.Equal(w.log, want) {
		w.t.Errorf("in %v the master was sent %q, want %q", d, w.log, want)
	}
	w.log = nil
}

func TestRegistersAndBeats(t *testing.T) {
	run(t, func(w *world, r *registration.Registration) {
		w.expect(time.Second, "fresh hello")
		<-r.Ready()
		if s := r.Status(); !s.Registered || s.Problem != "" || s.Epoch != 1 {
			t.Errorf("its status is %+v", s)
		}
		w.expect(20*time.Second, "snapshot", "snapshot")
		r.SendSnapshot()
		w.expect(0, "snapshot")
		r.RegisterAgain()
		w.expect(0, "fresh hello")
	})
}

// A hello is repeated until it is accepted. After the first, whose answer may have been
// lost, messages in transit to the master are kept.
func TestRepeatsHello(t *testing.T) {
	run(t, func(w *world, r *registration.Registration) {
		w.hellos = []wire.HelloReply{{Problem: "the name is taken"}, {Accepted: true, Group: 9}}
		w.expect(time.Second/2, "fresh hello")
		if s := r.Status(); s.Registered || !strings.Contains(s.Problem, "the name is taken") {
			t.Errorf("its status is %+v", s)
		}
		r.SendSnapshot() // shortens no pause
		w.expect(time.Second)
		w.expect(time.Second, "hello")
		w.expect(time.Second, "hello", "snapshot")
	})
}

// The pause after a refusal is that for refusals, however quickly a node repeats a hello that no
// master has answered; refusals in a row are counted anew after one that was not answered.
func TestRefusedHelloWaits(t *testing.T) {
	run(t, func(w *world, r *registration.Registration) {
		refusal := wire.HelloReply{Problem: "the name is taken"}
		w.hellos = []wire.HelloReply{refusal, refusal, refusal}
		w.expect(time.Second/2, "fresh hello")
		w.expect(2*time.Second, "hello")
		w.silent = true
		w.expect(3*time.Second, "hello")
		w.expect(time.Second, "hello")
		w.silent = false
		w.expect(time.Second, "hello") // refused
		w.expect(2*time.Second, "hello")
		<-r.Ready()
	})
}

// A node registers again with a master that does not know it, or is another process, but
// not with one that is silent.
func TestRegistersAgain(t *testing.T) {
	run(t, func(w *world, r *registration.Registration) {
		w.expect(time.Second, "fresh hello")
		w.snapshots = []wire.SnapshotReply{{Problem: "unknown", Incarnation: 5}}
		w.expect(10*time.Second, "snapshot", "fresh hello")
		w.snapshots = []wire.SnapshotReply{{Known: true, Incarnation: 6}}
		w.expect(10*time.Second, "snapshot", "fresh hello")
		w.silent = true
		w.expect(20*time.Second, "snapshot", "snapshot")
		if s := r.Status(); s.Registered || !strings.Contains(s.Problem, "does not answer") {
			t.Errorf("its status is %+v", s)
		}
		w.silent = false
		w.expect(10*time.Second, "snapshot")
		if s := r.Status(); !s.Registered {
			t.Errorf("its status is %+v", s)
		}
	})
}

// A node ends with advice when others have the numbers of its workers.
func TestNumbersOfOthers(t *testing.T) {
	run(t, func(w *world, _ *registration.Registration) {
		w.hellos = []wire.HelloReply{{Problem: "others have them", Numbers: []int32{3}}}
		w.expect(time.Minute, "fresh hello")
		if w.failed == nil || !strings.Contains(w.failed.Error(), "others have them") {
			t.Errorf("the daemon ends with %v", w.failed)
		}
	})
}
