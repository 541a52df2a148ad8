package peacock

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

const second = sched.Second

// probe makes a probe; times are in seconds. Its name is the number of its job.
func probe(name uint64, estimate, arrival, threshold sched.Time) sched.Probed {
	return sched.Probed{
		Job: sched.JobID{Lo: name}, Distributor: sched.Addr{Role: sched.Distributor}, Estimate: estimate * second,
		Arrival: arrival * second, Threshold: threshold * second,
	}
}

func names(list []sched.Probed) []uint64 {
	got := []uint64{}
	for i := range list {
		got = append(got, list[i].Job.Lo)
	}
	return got
}

// roomy is a cluster in which nothing is surplus: 10 workers with 10 tasks and
// 1000 s of work each.
var roomy = state{load: sched.Load{Queued: 100, Work: 10_000 * second}, workers: 10}

func (e *elastic) fill(list ...sched.Probed) *elastic {
	for _, p := range list {
		e.waiting = append(e.waiting, p)
		e.work += p.Estimate
	}
	return e
}

// The worked example of the package's doc comment.
func TestWorkedExample(t *testing.T) {
	s := state{load: sched.Load{Queued: 40, Work: 100 * second}, workers: 10}
	const l, short, m = 1, 2, 3
	e := (&elastic{}).fill(probe(l, 6, 0, 10))
	in := inSlot{true, 4 * second}
	e.enqueue(2*second, in, probe(short, 1, 2, 10), s)
	if got := names(e.waiting); !slices.Equal(got, []uint64{short, l}) {
		t.Fatalf("%v wait, want S before L", got)
	}
	e.enqueue(2*second, in, probe(m, 7, 2, 10), s)
	if got := names(e.waiting); !slices.Equal(got, []uint64{short, l}) || !slices.Equal(names(e.marked), []uint64{m}) {
		t.Fatalf("%v wait and %v are marked, want M marked", got, names(e.marked))
	}
}

// The rules of docs/policies.md, one by one. The new probe is number 9, the task in the
// slot has 10 s to go, and it is 100 s.
func TestEnqueueRules(t *testing.T) {
	for _, c := range []struct {
		rule    string
		waiting []sched.Probed
		p       sched.Probed
		state   state
		want    []uint64
		marked  []uint64
	}{
		{"p may pass q if est(p) <= est(q)", []sched.Probed{probe(1, 5, 90, 100)}, probe(9, 5, 95, 100), roomy, []uint64{9, 1}, nil},
		{"and not if it is longer", []sched.Probed{probe(1, 5, 90, 100)}, probe(9, 6, 95, 100), roomy, []uint64{1, 9}, nil},
		{
			"and letting it pass does not push q over q's deadline: now + est(p) <= q's deadline, without the wait",
			[]sched.Probed{probe(1, 5, 90, 15)}, probe(9, 5, 95, 100), roomy, []uint64{9, 1}, nil,
		},
		{"by a second more it does", []sched.Probed{probe(1, 5, 90, 14)}, probe(9, 5, 95, 100), roomy, []uint64{1, 9}, nil},
		{"and q is not over it already", []sched.Probed{probe(1, 5, 90, 1)}, probe(9, 1, 95, 100), roomy, []uint64{1, 9}, nil},
		{
			"passing subtracts est(q) from wait(p)",
			[]sched.Probed{probe(1, 2, 90, 1), probe(2, 50, 90, 100)}, probe(9, 5, 95, 17), roomy, []uint64{1, 9, 2}, nil,
		},
		{
			"p arrived earlier: p stays behind q if est(q) <= est(p) and p still meets its own deadline",
			[]sched.Probed{probe(1, 5, 90, 100)}, probe(9, 6, 80, 100), roomy, []uint64{1, 9}, nil,
		},
		{"else it passes: q is longer", []sched.Probed{probe(1, 7, 90, 100)}, probe(9, 6, 80, 100), roomy, []uint64{9, 1}, nil},
		{"its own deadline counts the wait: 10 + 5", []sched.Probed{probe(1, 5, 90, 100)}, probe(9, 6, 80, 35), roomy, []uint64{1, 9}, nil},
		{"else it passes: its deadline is near", []sched.Probed{probe(1, 5, 90, 100)}, probe(9, 6, 80, 34), roomy, []uint64{9, 1}, nil},
		{"add at that place if p meets its deadline with wait(p)", []sched.Probed{probe(1, 5, 90, 100)}, probe(9, 6, 95, 20), roomy, []uint64{1, 9}, nil},
		{"else mark it for rotation", []sched.Probed{probe(1, 5, 90, 100)}, probe(9, 6, 95, 19), roomy, []uint64{1}, []uint64{9}},
		{"or p has come to its deadline already", []sched.Probed{probe(1, 5, 90, 100)}, probe(9, 6, 95, 5), roomy, []uint64{1, 9}, nil},
		{"past the head: first place", []sched.Probed{probe(1, 5, 90, 100)}, probe(9, 1, 95, 6), roomy, []uint64{9, 1}, nil},
		{"an empty queue: first place", nil, probe(9, 1, 95, 6), roomy, []uint64{9}, nil},
		{
			"while what waits and runs is as many as the average, mark the last",
			[]sched.Probed{probe(1, 1, 90, 100), probe(2, 1, 90, 100)}, probe(9, 5, 95, 100),
			state{load: sched.Load{Queued: 40, Work: 10_000 * second}, workers: 10}, []uint64{1, 2}, []uint64{9},
		},
		{
			"the average is not rounded: 4.1 is more than 2 that wait and 1 that runs, and 1 more",
			[]sched.Probed{probe(1, 1, 90, 100), probe(2, 1, 90, 100)}, probe(9, 5, 95, 100),
			state{load: sched.Load{Queued: 41, Work: 10_000 * second}, workers: 10}, []uint64{1, 2, 9}, nil,
		},
		{
			"or a exceeds the average load; marks on >=",
			[]sched.Probed{probe(1, 10, 90, 100), probe(2, 10, 90, 100)}, probe(9, 10, 80, 100),
			state{load: sched.Load{Queued: 100, Work: 200 * second}, workers: 10}, []uint64{1}, []uint64{9, 2},
		},
		{
			"its work alone does not mark the only waiting probe",
			nil, probe(9, 1000, 95, 100), state{load: sched.Load{Queued: 21, Work: second}, workers: 10}, []uint64{9}, nil,
		},
		{
			"in a cluster with little to do a busy worker keeps none",
			[]sched.Probed{probe(1, 1, 90, 100)}, probe(9, 1, 95, 1), state{load: sched.Load{Queued: 11, Work: 10_000 * second}, workers: 10}, []uint64{}, []uint64{1, 9},
		},
	} {
		e := (&elastic{}).fill(c.waiting...)
		e.enqueue(100*second, inSlot{true, 10 * second}, c.p, c.state)
		if got := names(e.waiting); !slices.Equal(got, c.want) || !slices.Equal(names(e.marked), append([]uint64{}, c.marked...)) {
			t.Errorf("%s: %v wait and %v are marked, want %v and %v", c.rule, got, names(e.marked), c.want, c.marked)
		}
	}
}

// "A worker whose queue is empty takes back its first marked probe."
func TestTakesBackItsFirstMarkedProbe(t *testing.T) {
	e := (&elastic{}).fill(probe(1, 1, 0, 0))
	e.marked = []sched.Probed{probe(2, 1, 0, 0), probe(3, 1, 0, 0)}
	for _, want := range []uint64{1, 2, 3} {
		if p, ok := e.next(); !ok || p.Job.Lo != want {
			t.Fatalf("probe %d is served, want %d", p.Job.Lo, want)
		}
	}
	if _, ok := e.next(); ok || e.work != 0 {
		t.Errorf("an empty queue serves something, or has %d ns of work left", e.work)
	}
}

// dumb is the algorithm to the letter: every sum is computed anew and every case is
// a separate branch.
func dumb(now sched.Time, in inSlot, printed bool, waiting []sched.Probed, p sched.Probed, s state) (queue, marked []sched.Probed) {
	place := 0
	for i, q := range slices.Backward(waiting) {
		stop := p.Estimate > q.Estimate || now+p.Estimate > q.Arrival+q.Threshold
		if p.Arrival < q.Arrival { // p arrived earlier
			stop = q.Estimate <= p.Estimate && now+in.left+sum(waiting[:i+1]) <= p.Arrival+p.Threshold
		}
		if stop {
			place = i + 1
			break
		}
	}
	wait := in.left + sum(waiting[:place])
	meets, over := now+wait <= p.Arrival+p.Threshold, now >= p.Arrival+p.Threshold
	if place == 0 || meets || over {
		queue = slices.Concat(waiting[:place], []sched.Probed{p}, waiting[place:])
	} else {
		queue, marked = slices.Clone(waiting), []sched.Probed{p}
	}
	length, runs := float64(s.load.Queued)/float64(s.workers), 1.0
	if !in.busy || printed {
		runs = 0
	}
	for len(queue) > 0 && (float64(len(queue))+runs >= length || (printed || len(queue) > 1) && sum(queue) >= s.load.Work/sched.Time(s.workers)) {
		marked = append(marked, queue[len(queue)-1])
		queue = queue[:len(queue)-1]
	}
	return queue, marked
}

func sum(list []sched.Probed) (total sched.Time) {
	for i := range list {
		total += list[i].Estimate
	}
	return total
}

func TestEnqueueAgainstDumbOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(least, most sched.Time, what string) sched.Time {
			return sched.Time(rapid.Int64Range(int64(least), int64(most)).Draw(t, what))
		}
		e := &elastic{printed: rapid.Bool().Draw(t, "printed")}
		now := sched.Time(0)
		for i := range rapid.IntRange(1, 30).Draw(t, "probes") {
			now += number(0, 3, "later") * second
			s := state{load: sched.Load{Queued: int64(number(0, 60, "queued")), Work: number(0, 300, "work") * second}, workers: 10}
			in := inSlot{left: number(0, 5, "left") * second}
			in.busy = in.left > 0 || rapid.Bool().Draw(t, "busy")
			p := probe(uint64(i), number(1, 9, "estimate"), max(0, now/second-number(0, 20, "age")), number(0, 40, "threshold"))
			queue, marked := dumb(now, in, e.printed, e.waiting, p, s)
			e.marked = nil
			e.enqueue(now, in, p, s)
			if !slices.Equal(names(e.waiting), names(queue)) || !slices.Equal(names(e.marked), names(marked)) || e.work != sum(queue) {
				t.Fatalf("%v wait and %v are marked, want %v and %v", names(e.waiting), names(e.marked), names(queue), names(marked))
			}
			if rapid.IntRange(0, 3).Draw(t, "serve") == 0 {
				e.next()
			}
		}
	})
}

// Sums that do not fit saturate where they are read, and come back to what they
// were.
func TestSumsSaturate(t *testing.T) {
	e := &elastic{}
	s := state{workers: 1, load: sched.Load{Queued: 1 << 40, Work: 100 * second}}
	for range 1 << 13 {
		e.waiting = append(e.waiting, sched.Probed{Estimate: sched.MaxEstimate})
		e.work += sched.MaxEstimate
	}
	if e.work >= 0 {
		t.Fatal("the sum fits; the test shows nothing")
	}
	e.enqueue(0, inSlot{true, sched.MaxEstimate}, probe(9, 1, 1, 0), s) // nothing before it has a threshold
	if len(e.waiting)+len(e.marked) != 1<<13+1 || len(e.waiting) != 1 {
		t.Errorf("%d wait and %d are marked", len(e.waiting), len(e.marked))
	}
	if e.work != e.waiting[0].Estimate {
		t.Errorf("the sum is %d, want %d", e.work, e.waiting[0].Estimate)
	}
}
