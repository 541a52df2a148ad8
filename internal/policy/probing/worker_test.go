package probing_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var central = sched.Addr{Role: sched.Master}

type slot struct {
	t    tester
	core *probing.Worker
	out  sched.Actions
}

func newSlot(t tester, r probing.Rules) *slot {
	return &slot{t: t, core: probing.NewWorker(sched.WorkerConfig{Self: worker(1), Master: central}, r)}
}

// step returns the descriptions of what it did.
func (s *slot) step(from sched.Addr, m sched.Message) (did []string) {
	s.t.Helper()
	s.out.Reset()
	s.core.Step(0, from, &m, &s.out)
	if err := s.core.Valid(); err != nil {
		s.t.Fatalf("after %s: %v", sched.Describe(&m), err)
	}
	for i := range s.out.List() {
		did = append(did, sched.DescribeAction(&s.out.List()[i]))
	}
	return did
}

func (s *slot) expect(from sched.Addr, m sched.Message, want ...string) {
	s.t.Helper()
	if did := s.step(from, m); !slices.Equal(did, want) {
		s.t.Fatalf("after %s it did %q, want %q", sched.Describe(&m), did, want)
	}
}

func job(n uint64) sched.JobID { return sched.JobID{Lo: n} }

func probe(n uint64) sched.Message {
	return sched.Message{Kind: sched.Probe, Job: job(n), Distributor: self, Count: 1, Attempt: 1}
}

func launched(n, seq uint64, left int32) sched.Message {
	return sched.Message{Kind: sched.Launch, Job: job(n), Attempt: 1, Distributor: self, Seq: seq, Count: left}
}

func ended(n uint64) sched.Message {
	return sched.Message{Kind: sched.Ended, Job: job(n), Attempt: 1, Outcome: sched.Done}
}

func asks(n, seq uint64) string {
	m := sched.Message{Kind: sched.GetTask, Job: job(n), Seq: seq}
	return "Send to distributor 7: " + sched.Describe(&m)
}

func starts(n uint64) string {
	return "Start job=" + job(n).String() + " tasks=0+0#1 owner=distributor 7"
}

func reports(n uint64) string {
	return "Send to distributor 7: Report job=" + job(n).String() + " tasks=0+0#1 done"
}

// docs/policies.md, sparrow: "A worker keeps reservations FIFO. When it is free it
// asks the distributor of the head reservation for a task ... or none, and the worker
// proceeds to the next reservation."
func TestReservationsInOrder(t *testing.T) {
	s := newSlot(t, probing.Rules{})
	s.expect(self, probe(1), asks(1, 1))
	s.expect(self, probe(2))
	s.expect(self, probe(3))
	s.expect(self, launched(1, 1, 0), starts(1))
	s.expect(self, launched(1, 1, 0)) // came twice
	s.expect(sched.Addr{}, ended(1), reports(1), asks(2, 2))
	s.expect(sched.Addr{}, ended(1))
	s.expect(self, sched.Message{Kind: sched.NoTask, Job: job(2), Seq: 1}) // an answer to an earlier request
	s.expect(self, sched.Message{Kind: sched.NoTask, Job: job(2), Seq: 2}, asks(3, 3))
	s.expect(self, sched.Message{Kind: sched.CancelProbe, Job: job(3)}) // its answer is in transit
	s.expect(self, sched.Message{Kind: sched.NoTask, Job: job(3), Seq: 3})
	if !s.core.Free() {
		t.Error("the slot is not free")
	}
}

// An unexpected launch is returned.
func TestLaunchNobodyWaitsFor(t *testing.T) {
	s := newSlot(t, probing.Rules{})
	refused := func(n uint64) string {
		return "Send to distributor 7: Refused job=" + job(n).String() + ` tasks=0+0#1`
	}
	for _, m := range []sched.Message{launched(1, 0, 0), launched(2, 5, 0)} {
		if did := s.step(self, m); len(did) != 1 || did[0][:len(refused(m.Job.Lo))] != refused(m.Job.Lo) {
			t.Fatalf("it did %q", did)
		}
	}
	// An answer to an earlier request, of the very job it asks for now.
	s.expect(self, probe(1), asks(1, 1))
	s.expect(self, probe(1))
	s.expect(self, sched.Message{Kind: sched.NoTask, Job: job(1), Seq: 1}, asks(1, 2))
	if did := s.step(self, launched(1, 1, 0)); len(did) != 1 || did[0][:len(refused(1))] != refused(1) {
		t.Fatalf("it did %q", did)
	}
	s.expect(self, launched(1, 2, 0), starts(1))
}

// Withdrawn reservations leave the queue, wherever they are.
func TestWithdrawn(t *testing.T) {
	s := newSlot(t, probing.Rules{Next: func(q *probing.Queue) int { return q.Len() - 1 }})
	s.expect(self, probe(1), asks(1, 1))
	for _, n := range []uint64{2, 3, 2, 4} {
		s.expect(self, probe(n))
	}
	s.expect(self, sched.Message{Kind: sched.NoTask, Job: job(1), Seq: 1}, asks(4, 2))
	s.expect(self, sched.Message{Kind: sched.CancelProbe, Job: job(2)})
	s.expect(self, launched(4, 2, 0), starts(4))
	s.expect(sched.Addr{}, ended(4), reports(4), asks(3, 3))
}

// docs/policies.md, eagle: "the probe stays in its queue and is considered again when the
// task ends; it is dropped when its job has no unlaunched task".
func TestSticky(t *testing.T) {
	s := newSlot(t, probing.Rules{Sticky: true})
	s.expect(self, probe(1), asks(1, 1))
	s.expect(self, probe(2))
	s.expect(self, launched(1, 1, 1), starts(1))
	s.expect(sched.Addr{}, ended(1), reports(1), asks(1, 2))
	last := launched(1, 2, 0)
	last.First = 1
	s.step(self, last)
	last.Kind, last.Outcome = sched.Ended, sched.Done
	if did := s.step(sched.Addr{}, last); len(did) != 2 || did[1] != asks(2, 3) {
		t.Fatalf("it did %q", did)
	}
}

// A task of the central scheduler waits its turn, and its start and end are reported.
func TestAssigned(t *testing.T) {
	s := newSlot(t, probing.Rules{})
	id := "job=" + job(9).String() + " tasks=0+0#1"
	assigned := sched.Message{Kind: sched.Launch, Job: job(9), Attempt: 1, Distributor: self, Class: sched.Long}
	s.expect(self, probe(1), asks(1, 1))
	s.expect(central, assigned)
	s.expect(central, assigned) // came twice
	if s.core.Long() != 1 || s.core.RunsLong() {
		t.Fatalf("%d long tasks", s.core.Long())
	}
	s.expect(self, sched.Message{Kind: sched.NoTask, Job: job(1), Seq: 1},
		"Send to master 0: Started "+id, "Start "+id+" long owner=distributor 7")
	s.expect(central, sched.Message{Kind: sched.Kill, Job: job(9), Attempt: 1}, "Stop "+id+" long owner=distributor 7")
	s.expect(sched.Addr{}, ended(9), reports(9), "Send to master 0: Idle "+id)
	s.step(self, probe(2))
	other := assigned
	other.First = 4
	s.expect(central, other)
	s.expect(central, sched.Message{Kind: sched.Kill, Job: job(9), First: 4, Attempt: 1}) // waits, and is forgotten
	if s.core.Long() != 0 {
		t.Fatalf("%d long tasks", s.core.Long())
	}
}

// The queue against a plain slice.
func TestQueueIsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q probing.Queue
		var model []int32
		for n := range rapid.Int32Range(0, 200).Draw(t, "steps") {
			if len(model) > 0 && rapid.Bool().Draw(t, "take") {
				i := rapid.IntRange(0, len(model)-1).Draw(t, "from")
				end := rapid.IntRange(i, min(len(model), i+3)).Draw(t, "to")
				q.Remove(i, end)
				model = slices.Delete(model, i, end)
			} else {
				q.Push(probing.Entry{First: n})
				model = append(model, n)
			}
			if q.Len() != len(model) {
				t.Fatalf("%d entries, want %d", q.Len(), len(model))
			}
			for i := range model {
				if q.At(i).First != model[i] {
					t.Fatalf("entry %d is %d, want %v", i, q.At(i).First, model)
				}
			}
		}
	})
}

// A frontend that died after a launch and before its record was on the disk may give the
// same number again. The answer must neither start it a second time nor leave the slot
// waiting: the request is over, the launch is refused, and the next entry is served.
func TestLaunchOfTheAttemptThatRanLast(t *testing.T) {
	for _, sticky := range []bool{false, true} {
		s := newSlot(t, probing.Rules{Sticky: sticky})
		s.expect(self, probe(1), asks(1, 1))
		s.expect(self, launched(1, 1, 0), starts(1))
		s.expect(self, probe(1))
		s.expect(self, probe(2))
		s.expect(sched.Addr{}, ended(1), reports(1), asks(1, 2))
		s.expect(self, launched(1, 1, 0)) // the first answer repeated
		s.expect(self, launched(1, 2, 0),
			"Send to distributor 7: Refused job="+job(1).String()+` tasks=0+0#1 seq=2 reason="it ran here before"`, asks(2, 3))
		s.expect(self, launched(2, 3, 0), starts(2))
	}
}
