package results

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest/ports"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// network is everything around a reporter: two frontends, calls under way and notices, whose
// answers come late, repeatedly, by another frontend, or never.
type network struct {
	r       *Reporter
	now     sched.Time
	calls   []underway
	notices []notice
	refuses bool // NATS does
}

// underway is a Reports call without an answer yet.
type underway struct {
	batch *wire.Batch
	back  func(wire.ReportsReply, error)
}

// notice is one that a frontend received; it may acknowledge it at any time, and repeatedly.
type notice struct {
	from    sched.Addr
	ids     []sched.AttemptID
	numbers []int64
}

const forgetAfter = sched.Time(time.Hour)

func newNetwork() *network {
	w := &network{}
	m := telemetry.NewMetrics("nodemonitor")
	w.r = New(Config{
		Self: &wire.Sender{Ref: wire.Ref{Role: sched.Worker, Name: "n"}}, Limit: 1000, MaxBytes: 1 << 20, Heartbeat: sched.Second, Forget: forgetAfter, FirstNumber: 100,
		Names: addrmap.New(), Calls: w, Now: func() sched.Time { return w.now }, Post: func(do func()) { do() }, UnknownJob: func(sched.Addr, sched.JobID, time.Time) {},
		Forgotten: func(sched.Addr) {},
		Log:       slog.New(slog.DiscardHandler), Metrics: NewMetrics(m, prometheus.NewCounter(prometheus.CounterOpts{Name: "unpublished"})),
	})
	for i := range 2 {
		w.r.cfg.Names.Addr(wire.Ref{Role: sched.Distributor, Name: fmt.Sprint("f", i)})
	}
	return w
}

// Report implements Caller and Notifier.
func (c caller) Report(b *wire.Batch) error {
	if c.w.refuses {
		return errors.New("no NATS")
	}
	n := notice{from: addrOf(b.Receiver)}
	for i := range b.Items {
		n.ids, n.numbers = append(n.ids, b.Items[i].Msg.AttemptID()), append(n.numbers, b.Items[i].ResultNumber)
	}
	c.w.notices = append(c.w.notices, n)
	return nil
}

type caller struct{ w *network }

func (w *network) Report(_ string, b *wire.Batch, back func(wire.ReportsReply, error)) {
	w.calls = append(w.calls, underway{b, back})
}

func addrOf(ref wire.Ref) sched.Addr {
	return sched.Addr{Role: sched.Distributor, ID: int32(ref.Name[1] - '0')}
}

// TestForgottenOnlyForAReason: whatever the order of answers, losses, repetitions and runs of
// the same attempt, a result is forgotten only after its frontend has acknowledged that very
// result or has said that it does not know its job, or after the time for absent frontends;
// and then it is forgotten.
func TestForgottenOnlyForAReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newNetwork()
		w.r.UseNotices(caller{w})
		type kept struct {
			distributor sched.Addr
			number      int64
		}
		model := map[sched.AttemptID]kept{} // what must be kept
		heard := map[sched.Addr]sched.Time{}
		drop := func(from sched.Addr, id sched.AttemptID, number int64) {
			if k, is := model[id]; is && k == (kept{from, number}) {
				delete(model, id)
			}
		}
		frontend := func(t *rapid.T) sched.Addr {
			return sched.Addr{Role: sched.Distributor, ID: rapid.Int32Range(0, 1).Draw(t, "frontend")}
		}
		w.r.Reached(sched.Addr{Role: sched.Distributor, ID: 0}, "h:0")
		w.r.Reached(sched.Addr{Role: sched.Distributor, ID: 1}, "h:1")
		owns := func(at sched.Addr) bool {
			for _, k := range model {
				if k.distributor == at {
					return true
				}
			}
			return false
		}
		t.Repeat(map[string]func(*rapid.T){
			"an attempt ends": func(t *rapid.T) {
				id, distributor := attemptOf(uint64(rapid.IntRange(0, 1).Draw(t, "job")), rapid.Int32Range(0, 2).Draw(t, "task")), frontend(t)
				if _, is := model[id]; is {
					distributor = model[id].distributor // an attempt has one distributor
				} else {
					if !owns(distributor) {
						heard[distributor] = max(heard[distributor], w.now)
					}
					model[id] = kept{distributor, w.r.store.number + 1}
				}
				w.r.Keep(distributor, Result{ID: id})
				w.r.Flush()
			},
			"a heartbeat": func(t *rapid.T) {
				w.refuses = rapid.Bool().Draw(t, "without NATS")
				w.now += sched.Second
				w.r.Repeat(0)
			},
			"a long time": func(t *rapid.T) {
				w.now += sched.Time(rapid.IntRange(1, 40).Draw(t, "minutes")) * sched.Time(time.Minute)
				for id, k := range model {
					if w.now-heard[k.distributor] >= forgetAfter {
						delete(model, id)
					}
				}
				w.r.Repeat(0) // heartbeats went on meanwhile
			},
			"a pause of the node": func(*rapid.T) {
				const pause = 2 * forgetAfter
				w.now += pause
				for at, last := range heard {
					heard[at] = last + pause - sched.Second
				}
				w.r.Repeat(pause - sched.Second)
			},
			"an acknowledgement": func(t *rapid.T) {
				if len(w.notices) == 0 {
					t.Skip("no notice")
				}
				n := w.notices[rapid.IntRange(0, len(w.notices)-1).Draw(t, "notice")]
				if rapid.IntRange(0, 4).Draw(t, "by the other") == 0 {
					n.from.ID = 1 - n.from.ID
				}
				w.r.Acknowledge(n.from, n.ids, n.numbers)
				for i := range n.ids {
					drop(n.from, n.ids[i], n.numbers[i])
				}
				heard[n.from] = w.now
			},
			"an answer": func(t *rapid.T) {
				if len(w.calls) == 0 {
					t.Skip("no call")
				}
				at := rapid.IntRange(0, len(w.calls)-1).Draw(t, "call")
				c := w.calls[at]
				w.calls = append(w.calls[:at:at], w.calls[at+1:]...)
				to := addrOf(c.batch.Receiver)
				reply := wire.ReportsReply{Sender: c.batch.Receiver.Name}
				how := rapid.SampledFrom([]string{"lost", "another", "unknown", "acknowledged", "none"}).Draw(t, "how")
				for i := range c.batch.Items {
					id, number := c.batch.Items[i].Msg.AttemptID(), c.batch.Items[i].ResultNumber
					switch how {
					case "another":
						reply.Sender, reply.Unknown, reply.Acknowledged = "f9", append(reply.Unknown, id.Job), append(reply.Acknowledged, id)
					case "unknown":
						reply.Unknown = append(reply.Unknown, id.Job)
						drop(to, id, number)
					case "acknowledged":
						reply.Acknowledged = append(reply.Acknowledged, id)
						drop(to, id, number)
					}
				}
				if how == "lost" {
					c.back(wire.ReportsReply{}, errors.New("lost"))
					return
				}
				if how != "another" {
					heard[to] = w.now
				}
				c.back(reply, nil)
			},
			"": func(t *rapid.T) {
				if n, _ := w.r.Kept(); n != len(model) {
					t.Fatalf("%d results are kept, want %d", n, len(model))
				}
				for id, k := range model {
					if place, ok := w.r.store.index[id]; !ok || w.r.store.table[place].number != k.number || w.r.store.table[place].distributor.addr != k.distributor {
						t.Fatalf("the result of %v with number %d is not kept", id, k.number)
					}
				}
				bytes := int64(0)
				for _, f := range w.r.frontends {
					bytes += f.bytes
				}
				if bytes != w.r.store.bytes {
					t.Fatalf("the frontends' results have %d bytes, all have %d", bytes, w.r.store.bytes)
				}
			},
		})
	})
}

// BenchmarkReporter is a result that is kept, sent by a notice with 99 others, and
// acknowledged.
func BenchmarkReporter(b *testing.B) {
	w := newNetwork()
	w.r.UseNotices(quiet{})
	distributor := sched.Addr{Role: sched.Distributor, ID: 0}
	ids, numbers := make([]sched.AttemptID, 100), make([]int64, 100)
	number := w.r.store.number
	b.ReportAllocs()
	for b.Loop() {
		for i := range ids {
			number++
			ids[i], numbers[i] = attemptOf(1, int32(i)), number
			w.r.Keep(distributor, Result{ID: ids[i], Reason: "why"})
		}
		w.r.Flush()
		w.r.Acknowledge(distributor, ids, numbers)
	}
	if n, _ := w.r.Kept(); n != 0 {
		b.Fatalf("%d are kept", n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/result")
}

type quiet struct{}

func (quiet) Report(*wire.Batch) error { return nil }

// A node that stops while one process of a frontend takes over from another waits for it: its
// results would be lost with it. It does not wait for a frontend that nobody answers for.
func TestHandOver(t *testing.T) {
	for _, tc := range []struct {
		answer error
		again  bool
		notice bool // the process that leads hears a notice
	}{
		{&api.Error{Problem: api.NotReady, What: "it is reading its journal"}, true, false},
		{&api.Error{Problem: api.NotReady, What: "it is a standby"}, true, true},
		{&api.Error{Problem: api.Busy, What: "its mailbox is full"}, true, false},
		{refused(t), true, false},
		{errors.New("its address is none"), false, false},
	} {
		w, f, id := newNetwork(), sched.Addr{Role: sched.Distributor}, attemptOf(1, 0)
		posted := make(chan func(), 2)
		w.r.cfg.Post = func(do func()) { posted <- do }
		w.r.Reached(f, "h:0")
		w.r.UseNotices(caller{w})
		w.r.Keep(f, Result{ID: id})
		drained := w.r.HandOver()
		w.calls[0].back(wire.ReportsReply{}, tc.answer)
		(<-posted)()
		if ended := isClosed(drained); ended == tc.again {
			t.Errorf("after the answer %v the hand-over has ended: %v", tc.answer, ended)
		}
		if !tc.again {
			continue
		}
		(<-posted)() // the pause is over
		if len(w.calls) != 2 || len(w.notices) != 1 {
			t.Fatalf("after the answer %v there were %d calls and %d notices, want another call and a notice", tc.answer, len(w.calls), len(w.notices))
		}
		if tc.notice {
			n := w.notices[0]
			w.r.Acknowledge(n.from, n.ids, n.numbers)
			w.calls[1].back(wire.ReportsReply{}, tc.answer)
			(<-posted)()
			(<-posted)() // the second pause, after which there is nothing to send
		} else {
			w.calls[1].back(wire.ReportsReply{Sender: "f0", Acknowledged: []sched.AttemptID{id}}, nil)
			(<-posted)()
		}
		if kept, _ := w.r.Kept(); kept != 0 || !isClosed(drained) || len(w.calls) != 2 {
			t.Errorf("after the acknowledgement %d results are kept, the hand-over has ended: %v, and there were %d calls", kept, isClosed(drained), len(w.calls))
		}
	}
}

// refused returns the error of a call to an address at which nothing listens.
func refused(t *testing.T) error {
	t.Helper()
	pool, err := client.New(client.Options{Name: "frontend", Address: ports.Address(t), FailFast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	_, err = wire.NewPeerClient(pool, wire.NewCodec(addrmap.New(), func() sched.Time { return 0 })).Reports(t.Context(), &wire.Batch{})
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("the call fails with %v", err)
	}
	return err
}

// Another frontend that serves at the address of one that is started again elsewhere does not
// end the hand-over.
func TestHandOverWhereAnotherAnswers(t *testing.T) {
	w, f, id := newNetwork(), sched.Addr{Role: sched.Distributor}, attemptOf(1, 0)
	posted := make(chan func(), 2)
	w.r.cfg.Post = func(do func()) { posted <- do }
	w.r.Reached(f, "h:0")
	w.r.Keep(f, Result{ID: id})
	drained := w.r.HandOver()
	w.calls[0].back(wire.ReportsReply{Sender: "f1", Acknowledged: []sched.AttemptID{id}}, nil)
	(<-posted)()
	if kept, _ := w.r.Kept(); kept != 1 || isClosed(drained) {
		t.Fatalf("after the answer of another frontend %d results are kept, and the hand-over has ended: %v", kept, isClosed(drained))
	}
	w.r.Reached(f, "h:1")
	(<-posted)() // the pause is over
	if len(w.calls) != 2 {
		t.Fatalf("there were %d calls, want 2", len(w.calls))
	}
	w.calls[1].back(wire.ReportsReply{Sender: "f0", Acknowledged: []sched.AttemptID{id}}, nil)
	(<-posted)()
	if kept, _ := w.r.Kept(); kept != 0 || !isClosed(drained) {
		t.Errorf("%d results are kept, and the hand-over has ended: %v", kept, isClosed(drained))
	}
}

// The calls of a hand-over to a frontend that does not answer are fewer from one to the next,
// and at least two in each second.
func TestHandOverPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := newNetwork(), sched.Addr{Role: sched.Distributor}
		posted := make(chan func(), 2)
		w.r.cfg.Post = func(do func()) { posted <- do }
		w.r.Reached(f, "h:0")
		w.r.Keep(f, Result{ID: attemptOf(1, 0)})
		w.r.HandOver()
		var last, longest time.Duration
		start := time.Now()
		for since := time.Duration(0); since < 3*time.Second; since = time.Since(start) {
			longest, last = max(longest, since-last), since
			w.calls[len(w.calls)-1].back(wire.ReportsReply{}, &api.Error{Problem: api.NotReady, What: "connection refused"})
			(<-posted)()
			(<-posted)() // the pause is over
		}
		if n := len(w.calls); n < 8 || n > 22 || longest > 500*time.Millisecond {
			t.Errorf("%d calls in 3 s, the longest pause %v", n, longest)
		}
		w.calls[len(w.calls)-1].back(wire.ReportsReply{Sender: "f0", Acknowledged: []sched.AttemptID{attemptOf(1, 0)}}, nil)
		(<-posted)()
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
