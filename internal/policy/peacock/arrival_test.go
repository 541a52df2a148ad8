package peacock

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// travelled returns a batch as it comes out of the wire: written as ages at one
// instant, and read at another by a clock that is ahead of the sender's.
func travelled(m *sched.Message, way, ahead sched.Time) *sched.Message {
	copied, more := *m, *m.More
	more.Probes = append([]sched.Probed(nil), more.Probes...)
	copied.More = &more
	copied.Arrival += way + ahead
	for i := range more.Probes {
		more.Probes[i].Arrival += way + ahead
	}
	return &copied
}

// crowded is a slot that asks for one task and holds another probe, so that what
// comes by rotation is marked.
func crowded(t *testing.T) (s *slot, load sched.Load) {
	s = newSlot(t)
	s.now = 5*second + second/2
	load = sched.Load{Queued: 9, Work: 3 * second}
	for _, job := range []uint64{1, 2} {
		s.step(distributor, &sched.Message{Kind: sched.Probe, Job: sched.JobID{Lo: job}, Distributor: distributor, Estimate: second, Arrival: s.now, More: &sched.More{Load: load, Threshold: 100 * second}})
	}
	return s, load
}

// Each probe carries its arrival time: it is the same after a thousand ways around
// the ring, however long the messages take, and with clocks that are not quite
// alike.
func TestArrivalAfterManyWays(t *testing.T) {
	const began, ways = 5 * second, 1000
	s, load := crowded(t)
	p := probe(20, 9, began/second, 2*ways)
	p.Distributor = distributor
	m := &sched.Message{Kind: sched.Rotated, Seq: 5, Arrival: 5 * second, More: &sched.More{Probes: []sched.Probed{p}, Load: load}}
	for k := range sched.Time(ways) {
		way := 3*sched.Millisecond + k%7*sched.Millisecond
		s.step(worker(0), travelled(m, way, 2*sched.Millisecond))
		s.now = sched.Time(m.Seq+1) * second
		got := s.does(sched.Addr{}, tick(m.Seq+1), "Send to worker 2: Rotated")
		m = &got[0].Msg
		if len(m.More.Probes) != 1 || m.More.Probes[0].Arrival != began {
			t.Fatalf("after %d ways it is %+v", k+1, m.More.Probes)
		}
		s.now += second / 2
	}
}

// A batch whose tick was at quite another time by its sender's clock, or that does
// not carry it, is believed.
func TestArrivalByAnotherClock(t *testing.T) {
	for _, told := range []sched.Time{0, 3 * second, 7*second + 1} {
		s, load := crowded(t)
		p := probe(20, 9, 4, 100)
		p.Distributor = distributor
		s.step(worker(0), &sched.Message{Kind: sched.Rotated, Seq: 6, Arrival: told, More: &sched.More{Probes: []sched.Probed{p}, Load: load}})
		if marked := s.w.queue.marked; len(marked) != 1 || marked[0].Arrival != 4*second {
			t.Errorf("arrival %d: marked is %+v", told, marked)
		}
	}
}

// Probes of one job have arrived together, whatever their transit has changed: the
// new one passes the one that waits, as it does without a wire, and continues to
// the one before it.
func TestProbesOfOneJob(t *testing.T) {
	for _, off := range []sched.Time{-sched.Millisecond, 0, sched.Millisecond} {
		e := (&elastic{}).fill(probe(1, 5, 90, 100), probe(2, 3, 95, 100))
		p := probe(2, 3, 95, 100)
		p.Arrival += off
		e.enqueue(100*second, inSlot{true, 10 * second}, p, roomy)
		if got := names(e.waiting); len(got) != 3 || got[0] != 2 || e.waiting[0].Arrival != p.Arrival {
			t.Errorf("off by %d: %v wait", off, got)
		}
	}
}
