package peacock

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// slot is a worker, number 1 of a ring of three, whose actions are read as text.
type slot struct {
	t   *testing.T
	w   *Worker
	now sched.Time
}

func worker(id int32) sched.Addr { return sched.Addr{Role: sched.Worker, ID: id} }

var distributor = sched.Addr{Role: sched.Distributor, ID: 4}

func ring(ids ...int32) *sched.Message {
	m := &sched.Message{Kind: sched.Members, More: &sched.More{}}
	for _, id := range ids {
		m.More.Members = append(m.More.Members, sched.Member{Worker: worker(id)})
	}
	return m
}

func tick(number uint64) *sched.Message {
	return &sched.Message{Kind: sched.Timeout, Token: number}
}

func newSlot(t *testing.T) *slot {
	s := &slot{t: t, w: NewWorker(sched.WorkerConfig{Self: worker(1), Params: sched.Params{Cutoff: second}}, Options{Interval: second})}
	s.step(sched.Addr{}, ring(0, 1, 2))
	return s
}

func (s *slot) step(from sched.Addr, m *sched.Message) []sched.Action {
	s.t.Helper()
	var out sched.Actions
	s.w.Step(s.now, from, m, &out)
	if err := s.w.Valid(); err != nil {
		s.t.Fatalf("after %s: %v", sched.Describe(m), err)
	}
	return out.List()
}

// does compares what a step did with lines that each begin an action's
// description.
func (s *slot) does(from sched.Addr, m *sched.Message, want ...string) []sched.Action {
	s.t.Helper()
	got := s.step(from, m)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			s.t.Fatalf("%s: also does %q", sched.Describe(m), sched.DescribeAction(&got[i]))
		case i >= len(got) || !strings.HasPrefix(sched.DescribeAction(&got[i]), want[i]):
			s.t.Fatalf("%s: does %d actions, number %d is not %q", sched.Describe(m), len(got), i, want[i])
		}
	}
	return got
}

func (s *slot) probe(job uint64, estimate sched.Time) []sched.Action {
	return s.step(distributor, &sched.Message{
		Kind: sched.Probe, Job: sched.JobID{Lo: job}, Distributor: distributor, Estimate: estimate, Arrival: s.now,
		More: &sched.More{Load: roomy.load, Threshold: 100 * second},
	})
}

func launch(job uint64, seq uint64) *sched.Message {
	return &sched.Message{Kind: sched.Launch, Job: sched.JobID{Lo: job}, Attempt: 1, Seq: seq, Distributor: distributor, More: &sched.More{Load: roomy.load}}
}

func ended(job uint64) *sched.Message {
	return &sched.Message{Kind: sched.Ended, Job: sched.JobID{Lo: job}, Attempt: 1, Outcome: sched.Done}
}

// "A free worker takes the head of its queue and fetches the task (late binding)."
func TestLateBinding(t *testing.T) {
	s := newSlot(t)
	if got := s.probe(7, second); len(got) != 1 || got[0].Msg.Kind != sched.GetTask || got[0].Msg.Seq != 1 || got[0].To != distributor {
		t.Fatalf("a free worker does %v", got)
	}
	if got := s.probe(8, second); len(got) != 0 {
		t.Fatalf("a worker that asks does %v", got)
	}
	s.does(distributor, launch(7, 1), "Start job=00000000000000000000000000000007")
	s.does(distributor, launch(7, 1)) // came twice
	s.does(sched.Addr{}, ended(7), "Send to distributor 4: Report", "Send to distributor 4: GetTask job=00000000000000000000000000000008")
	s.does(sched.Addr{}, ended(7)) // came twice
	s.does(distributor, &sched.Message{Kind: sched.NoTask, Job: sched.JobID{Lo: 8}, Seq: 1})
	s.does(distributor, &sched.Message{Kind: sched.NoTask, Job: sched.JobID{Lo: 8}, Seq: s.w.Slot().Seq})
	if s.w.phase != idle {
		t.Errorf("the worker is in phase %d, want idle", s.w.phase)
	}
}

// An answer to a request that is not open any more is no task for this slot; it
// goes back. Where no distributor can answer, the shell does.
func TestAnswersTooLate(t *testing.T) {
	s := newSlot(t)
	s.probe(7, second)
	s.does(worker(0), launch(7, 1), "Send to worker 0: Refused")
	s.does(distributor, launch(6, 1), "Send to distributor 4: Refused")
	s.does(distributor, launch(7, 9), "Send to distributor 4: Refused")
	s.does(sched.Addr{}, &sched.Message{Kind: sched.NoTask, Job: sched.JobID{Lo: 7}})
	s.does(distributor, launch(7, 1), "Send to distributor 4: Refused")
}

// "Every interval all marked probes go to the ring successor in one message";
// "ticks at its multiples".
func TestRotation(t *testing.T) {
	s := newSlot(t)
	s.now = 5*second + second/2
	s.probe(1, second) // asked for
	full := &sched.More{Load: sched.Load{Queued: 9, Work: 3 * second}, Threshold: 100 * second}
	for job, want := range []string{"", "Timer at 6000000000", ""} {
		m := &sched.Message{Kind: sched.Probe, Job: sched.JobID{Lo: uint64(10 + job)}, Distributor: distributor, Estimate: second, Arrival: s.now, More: full}
		if want == "" {
			s.does(distributor, m)
		} else {
			s.does(distributor, m, want)
		}
	}
	if waiting, marked := s.w.Waiting(); waiting != 1 || marked != 2 {
		t.Fatalf("%d wait and %d are marked, want 1 and 2", waiting, marked)
	}
	s.now = 6 * second
	got := s.does(sched.Addr{}, tick(6), "Send to worker 2: Rotated seq=6")
	if more := got[0].Msg.More; len(more.Probes) != 2 || more.Load != full.Load {
		t.Errorf("%+v rotates", more)
	}
	s.does(sched.Addr{}, tick(6)) // nothing is marked any more
	// The successor is lost before it has the batch: the next one gets it.
	s.does(sched.Addr{}, ring(0, 1), "Timer at 7000000000")
	s.now = 7 * second
	s.does(sched.Addr{}, tick(7), "Send to worker 0: Rotated seq=7")
	s.does(worker(0), &sched.Message{Kind: sched.Rotated, Seq: 7}) // it has
	s.does(sched.Addr{}, ring(1))
	if _, marked := s.w.Waiting(); marked != 0 {
		t.Errorf("%d probes come back although the successor had them", marked)
	}
}

// A probe moves by one worker at each tick: a batch of a tick whose timer has not
// fired here yet makes it fire first, and the probes of the batch wait for the next.
func TestLateTimer(t *testing.T) {
	s := newSlot(t)
	s.now = 5*second + second/2
	s.probe(1, second) // asked for
	full := &sched.More{Load: sched.Load{Queued: 9, Work: 3 * second}, Threshold: 100 * second}
	for job := range uint64(2) {
		s.step(distributor, &sched.Message{Kind: sched.Probe, Job: sched.JobID{Lo: 10 + job}, Distributor: distributor, Estimate: second, Arrival: s.now, More: full})
	}
	batch := func(tick, job uint64) *sched.Message {
		p := probe(job, 1, s.now, 100)
		p.Distributor = distributor
		return &sched.Message{Kind: sched.Rotated, Seq: tick, More: &sched.More{Probes: []sched.Probed{p}, Load: full.Load}}
	}
	s.now = 6*second - 1
	got := s.does(worker(0), batch(6, 20), "Send to worker 0: Rotated seq=6", "Send to worker 2: Rotated seq=6", "Timer at 7000000000")
	if moved := got[1].Msg.More.Probes; len(moved) != 1 || moved[0].Job.Lo != 10 {
		t.Errorf("%+v moves at tick 6, want job 10 only", moved)
	}
	s.now = 6 * second
	s.does(sched.Addr{}, tick(6)) // the timer, late
	// A predecessor whose clock is hours ahead takes this one along by one tick.
	s.does(worker(0), batch(9999, 21), "Send to worker 0: Rotated seq=9999", "Send to worker 2: Rotated seq=7", "Timer at 8000000000")
}

// A probe that comes back from a lost successor finds a slot that is free meanwhile.
func TestComesBackToAFreeSlot(t *testing.T) {
	s := newSlot(t)
	s.probe(1, second)
	s.step(distributor, launch(1, 1))
	full := &sched.More{Load: sched.Load{Queued: 9, Work: 3 * second}}
	for _, job := range []uint64{2, 3} {
		s.step(distributor, &sched.Message{Kind: sched.Probe, Job: sched.JobID{Lo: job}, Distributor: distributor, Estimate: second, More: full})
	}
	s.does(sched.Addr{}, tick(1), "Send to worker 2: Rotated")
	s.does(sched.Addr{}, ended(1), "Send to distributor 4: Report", "Send to distributor 4: GetTask job=00000000000000000000000000000002")
	s.does(distributor, &sched.Message{Kind: sched.NoTask, Job: sched.JobID{Lo: 2}, Seq: s.w.Slot().Seq})
	s.does(sched.Addr{}, ring(0, 1), "Send to distributor 4: GetTask job=00000000000000000000000000000003")
}

// A probe that comes in by rotation is enqueued like a new one and acknowledged;
// one that comes twice is acknowledged twice.
func TestRotatedTwice(t *testing.T) {
	s := newSlot(t)
	m := &sched.Message{Kind: sched.Rotated, Seq: 3, More: &sched.More{Probes: []sched.Probed{probe(1, 2, 0, 100), probe(2, 1, 0, 100)}, Load: roomy.load}}
	m.More.Probes[0].Distributor, m.More.Probes[1].Distributor = distributor, distributor
	s.does(worker(0), m, "Send to worker 0: Rotated seq=3", "Send to distributor 4: GetTask job=00000000000000000000000000000002")
	s.does(worker(0), m, "Send to worker 0: Rotated seq=3")
	if waiting, _ := s.w.Waiting(); waiting != 1 {
		t.Errorf("%d wait, want 1", waiting)
	}
}

// A worker that is alone, or not in the ring, keeps the probes that it marks.
func TestAlone(t *testing.T) {
	for _, ids := range [][]int32{nil, {1}, {0, 2}} {
		s := newSlot(t)
		s.step(sched.Addr{}, ring(ids...))
		for job := range uint64(9) {
			for _, a := range s.probe(job, second) {
				if a.Kind == sched.Timer {
					t.Errorf("in a ring of %v the worker sets a timer", ids)
				}
			}
		}
	}
	if got := successor(worker(2), ring(0, 1, 2).More.Members); got != worker(0) {
		t.Errorf("the last worker's successor is %s", got)
	}
}

func TestKill(t *testing.T) {
	s := newSlot(t)
	s.probe(7, second)
	s.step(distributor, launch(7, 1))
	s.does(distributor, &sched.Message{Kind: sched.Kill, Job: sched.JobID{Lo: 8}, Attempt: 1})
	got := s.does(distributor, &sched.Message{Kind: sched.Kill, Job: sched.JobID{Lo: 7}, Attempt: 1}, "Stop")
	if id := got[0].Msg.AttemptID(); id.Job.Lo != 7 || id.Attempt != 1 {
		t.Errorf("stops %s", id)
	}
}

// A batch is bounded; further probes move at the next tick.
func TestManyMove(t *testing.T) {
	s := newSlot(t)
	s.now = second
	s.probe(1, second) // asked for
	s.probe(2, second) // waits
	for job := range uint64(maxMoved + 5) {
		p := probe(100+job, 1, 1, 100)
		p.Distributor = distributor
		s.w.queue.marked = append(s.w.queue.marked, p)
	}
	s.w.rotation.due = 2
	got := s.does(sched.Addr{}, tick(2), "Send to worker 2: Rotated seq=2", "Timer at 3000000000")
	next := s.does(sched.Addr{}, tick(3), "Send to worker 2: Rotated seq=3")
	if first, rest := got[0].Msg.More.Probes, next[0].Msg.More.Probes; len(first) != maxMoved || len(rest) != 5 || rest[0].Job.Lo != 100+maxMoved {
		t.Errorf("%d move, then %d", len(first), len(rest))
	}
}

// The attempt that ran last does not start a second time, and the slot does not wait for
// ever for another answer.
func TestLaunchOfTheAttemptThatRanLast(t *testing.T) {
	s := newSlot(t)
	probe := func(n uint64) *sched.Message {
		return &sched.Message{Kind: sched.Probe, Job: sched.JobID{Lo: n}, Distributor: distributor, Estimate: second, Count: 1, Attempt: 1, More: &sched.More{Load: sched.Load{Queued: 9, Work: second}}}
	}
	launch := func(seq uint64) *sched.Message {
		return &sched.Message{Kind: sched.Launch, Job: sched.JobID{Lo: 1}, Attempt: 1, Distributor: distributor, Seq: seq}
	}
	s.does(distributor, probe(1), "Send to distributor 4: GetTask")
	s.does(distributor, launch(s.w.seq), "Start")
	s.does(distributor, probe(1))
	s.does(distributor, probe(2), "Timer")
	s.does(sched.Addr{}, &sched.Message{Kind: sched.Ended, Job: sched.JobID{Lo: 1}, Attempt: 1, Outcome: sched.Done},
		"Send to distributor 4: Report", "Send to distributor 4: GetTask job=00000000000000000000000000000001")
	s.does(distributor, launch(s.w.seq), "Send to distributor 4: Refused", "Send to distributor 4: GetTask job=00000000000000000000000000000002")
}

// "Workers require to get the most recent shared state", and a predecessor may know of an
// earlier one. What it knows of a later one counts.
func TestTheMostRecentStateCounts(t *testing.T) {
	s := newSlot(t)
	s.now = 9 * second
	s.probe(1, 2)
	for _, c := range []struct{ age, want sched.Time }{{second, 0}, {-second, 1}, {0, 2}, {sched.MaxEstimate, 2}} {
		told := s.w.state.load
		other := sched.Load{Queued: told.Queued + 1, Work: told.Work}
		s.step(worker(0), &sched.Message{Kind: sched.Rotated, Seq: s.w.rotation.received + 1, More: &sched.More{Load: other, Stamp: c.age}})
		if got := s.w.state.load.Queued - roomy.load.Queued; got != int64(c.want) {
			t.Errorf("after a state of age %d it is %d, want %d", c.age, got, c.want)
		}
	}
	s.now += 2 * second
	s.step(worker(0), &sched.Message{Kind: sched.Rotated, Seq: 100, More: &sched.More{Load: sched.Load{Queued: 7}, Stamp: second}})
	if s.w.state.load.Queued != 7 {
		t.Errorf("a later state does not count: %+v", s.w.state.load)
	}
	s.now += 3 * second
	s.step(worker(0), &sched.Message{Kind: sched.Rotated, Seq: 101, More: &sched.More{Probes: []sched.Probed{probe(8, 1, 0, 0)}, Load: sched.Load{Queued: 1}, Stamp: second}})
	for _, a := range s.step(sched.Addr{}, tick(s.w.rotation.due)) {
		if a.Kind == sched.Send && a.Msg.More != nil && a.Msg.More.Stamp != second {
			t.Errorf("a state of 1 s is sent as one of %d ns", a.Msg.More.Stamp)
		}
	}
}
