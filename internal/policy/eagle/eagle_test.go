package eagle_test

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/eagle"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var (
	distributor = sched.Addr{Role: sched.Distributor, ID: 7}
	central     = sched.Addr{Role: sched.Master}
	one         = sched.JobID{Lo: 1}
)

func worker(id int32) sched.Addr { return sched.Addr{Role: sched.Worker, ID: id} }

func step(t *testing.T, c sched.Core, from sched.Addr, m sched.Message) []sched.Action {
	t.Helper()
	var out sched.Actions
	c.Step(0, from, &m, &out)
	if err := c.(interface{ Valid() error }).Valid(); err != nil {
		t.Fatalf("after %s: %v", sched.Describe(&m), err)
	}
	return out.List()
}

// newFrontend knows 10 workers, the first 2 of which are reserved.
func newFrontend(t *testing.T) *eagle.Distributor {
	return newFrontendOf(t, 0.2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
}

// newFrontendOf knows the workers of these numbers, of which it reserves the share.
func newFrontendOf(t *testing.T, share float64, ids ...int32) *eagle.Distributor {
	d := eagle.NewDistributor(sched.DistributorConfig{Self: distributor, Seed: 1, Params: sched.Params{Cutoff: sched.Second, Reserved: share}}, eagle.Defaults())
	step(t, d, sched.Addr{}, members(ids...))
	return d
}

func members(ids ...int32) sched.Message {
	m := sched.Message{Kind: sched.Members, More: &sched.More{}}
	for _, id := range ids {
		m.More.Members = append(m.More.Members, sched.Member{Worker: worker(id)})
	}
	return m
}

// afterRejection returns the worker to which a rejected probe of job one goes next.
func afterRejection(t *testing.T, d *eagle.Distributor, try int32, stamp sched.Time, bits ...uint64) sched.Addr {
	t.Helper()
	got := step(t, d, worker(5), sched.Message{Kind: sched.ProbeRejected, Job: one, Attempt: try, More: &sched.More{Bits: bits, Stamp: stamp}})
	if len(got) != 1 || got[0].Msg.Kind != sched.Probe || got[0].Msg.Attempt != try+1 || got[0].To.Role != sched.Worker {
		t.Fatalf("after the rejection of try %d it did %v, want one probe", try, got)
	}
	return got[0].To
}

// docs/policies.md, eagle: the defaults of `ratio`, `least` and `slack`.
func TestDefaults(t *testing.T) {
	if got, want := eagle.Defaults(), (eagle.Options{Ratio: 2, Least: 20, Slack: 5}); got != want {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
}

// docs/policies.md, eagle: "ceil(2F), at least 20, to random workers".
func TestProbes(t *testing.T) {
	for tasks, want := range map[int32]int{1: 20, 10: 20, 11: 22} {
		got := step(t, newFrontend(t), sched.Addr{}, sched.Message{Kind: sched.Submit, Job: one, Count: tasks})
		if len(got) != want || got[0].Msg.Kind != sched.Probe || got[0].Msg.Attempt != 1 {
			t.Errorf("%d tasks: %d actions, want %d probes", tasks, len(got), want)
		}
	}
}

// docs/policies.md, eagle: "Rejected probes are sent again to random workers outside
// the bitmap; what is rejected in the second round is sent to the reserved partition";
// of several bitmaps, "The newest one counts."
func TestRounds(t *testing.T) {
	d := newFrontend(t)
	step(t, d, sched.Addr{}, sched.Message{Kind: sched.Submit, Job: one, Count: 1})
	rejected := func(try int32, stamp sched.Time, bits uint64) sched.Addr {
		t.Helper()
		return afterRejection(t, d, try, stamp, bits)
	}
	const all = 1<<10 - 1
	for range 20 {
		if to := rejected(1, 5, all&^(1<<6)); to != worker(6) {
			t.Fatalf("sent to %v; all others have long work", to)
		}
		if to := rejected(1, 4, 0); to != worker(6) {
			t.Fatalf("an older bitmap sent it to %v", to)
		}
		if to := rejected(2, 5, 0); to.ID > 1 {
			t.Fatalf("the third try went to %v", to)
		}
	}
	if to := rejected(1, 6, all); to.ID > 1 {
		t.Fatalf("with long work everywhere it went to %v", to)
	}
	rejected(2, 7, all&^(1<<8))                                                                 // news that this probe does not use
	step(t, d, worker(3), sched.Message{Kind: sched.GetTask, Job: sched.JobID{Lo: 99}, Seq: 1}) // no job of this distributor
	if to := rejected(1, 0, 0); to != worker(8) {
		t.Fatalf("sent to %v; by the newest bitmap only worker 8 has no long work", to)
	}
	step(t, d, worker(0), sched.Message{Kind: sched.GetTask, Job: one})
	for _, job := range []sched.JobID{one, {Lo: 99}} {
		if got := step(t, d, worker(5), sched.Message{Kind: sched.ProbeRejected, Job: job, Attempt: 1}); len(got) != 0 {
			t.Fatalf("for job %v, which has no task left or is unknown, it did %v", job, got)
		}
	}
}

// A rejected probe goes to a live worker outside the bitmap, whatever the workers' numbers and
// however many the bitmap covers.
func TestOutsideTheBitmap(t *testing.T) {
	const full = ^uint64(0)
	ids := []int32{0, 5, 63, 64, 65, 127, 128, 130}
	d := newFrontendOf(t, 0, ids...)
	step(t, d, sched.Addr{}, sched.Message{Kind: sched.Submit, Job: one, Count: 1})
	stamp := sched.Time(0)
	for _, free := range ids {
		bits := []uint64{full, full, full}
		bits[free/64] &^= 1 << (free % 64)
		for range 5 {
			stamp++
			if to := afterRejection(t, d, 1, stamp, bits...); to != worker(free) {
				t.Fatalf("sent to %v, want worker %d, the only one without long work", to, free)
			}
		}
	}
	for range 20 {
		if to := afterRejection(t, d, 1, stamp+1, full, full); to.ID < 128 {
			t.Fatalf("sent to %v, which has long work; the bitmap ends before worker 128", to)
		}
	}
	step(t, d, sched.Addr{}, members(0, 5, 64))
	for range 20 {
		if to := afterRejection(t, d, 1, stamp+2, full, full&^1); to != worker(64) {
			t.Fatalf("sent to %v, want worker 64", to)
		}
	}
	step(t, d, sched.Addr{}, members(0, 5, 63, 64))
	if to := afterRejection(t, d, 1, 0); to != worker(64) {
		t.Fatalf("sent to %v, want worker 64, also after a worker before it has joined", to)
	}
}

// Without reserved workers the third try goes to any worker, and without workers nowhere.
func TestThirdTryWithoutReservedWorkers(t *testing.T) {
	d := newFrontendOf(t, 0, 3, 4)
	step(t, d, sched.Addr{}, sched.Message{Kind: sched.Submit, Job: one, Count: 1})
	seen := map[sched.Addr]bool{}
	for range 40 {
		seen[afterRejection(t, d, 2, 1, 0)] = true
	}
	if !seen[worker(3)] || !seen[worker(4)] || len(seen) != 2 {
		t.Errorf("third tries went to %v, want workers 3 and 4", seen)
	}
	step(t, d, sched.Addr{}, members(4))
	if to := afterRejection(t, d, 2, 1, 0); to != worker(4) {
		t.Errorf("the third try went to %v, want the only worker", to)
	}
	step(t, d, sched.Addr{}, members())
	for try := int32(1); try <= 2; try++ {
		if got := step(t, d, worker(4), sched.Message{Kind: sched.ProbeRejected, Job: one, Attempt: try}); len(got) != 0 {
			t.Errorf("without workers it did %v after the rejection of try %d", got, try)
		}
	}
}

// docs/policies.md, eagle: "A worker that runs or queues long work rejects the probe
// and returns its bitmap"; the third try is taken "without asking".
func TestRejection(t *testing.T) {
	w := eagle.NewWorker(sched.WorkerConfig{Self: worker(5), Master: central}, eagle.Defaults())
	long := func(task int32, stamp sched.Time) sched.Message {
		return sched.Message{
			Kind: sched.Launch, Job: sched.JobID{Lo: 9}, First: task, Attempt: 1, Distributor: distributor, Class: sched.Long,
			More: &sched.More{Bits: []uint64{uint64(stamp)}, Stamp: stamp},
		}
	}
	probe := func(try int32) (kinds []sched.Kind, more *sched.More) {
		for _, a := range step(t, w, distributor, sched.Message{Kind: sched.Probe, Job: one, Distributor: distributor, Count: 1, Attempt: try}) {
			kinds, more = append(kinds, a.Msg.Kind), a.Msg.More
		}
		return kinds, more
	}
	step(t, w, central, long(0, 3)) // runs
	if kinds, more := probe(1); !slices.Equal(kinds, []sched.Kind{sched.ProbeRejected}) || more.Stamp != 3 {
		t.Fatalf("with one long task: %v with %v", kinds, more)
	}
	step(t, w, central, long(1, 8)) // waits
	step(t, w, central, long(1, 5)) // comes again, drawn before
	for try := int32(1); try <= 2; try++ {
		if kinds, more := probe(try); !slices.Equal(kinds, []sched.Kind{sched.ProbeRejected}) || more.Stamp != 8 {
			t.Fatalf("try %d: %v with %v", try, kinds, more)
		}
	}
	waiting := func() int { q, _ := w.Queue(); return q.Len() }
	if n := waiting(); n != 1 {
		t.Fatalf("%d entries wait, want the long task alone: a rejected probe is not kept", n)
	}
	if kinds, _ := probe(3); len(kinds) != 0 || waiting() != 2 {
		t.Fatalf("the third try: %v, %d entries wait", kinds, waiting())
	}
	for task := range int32(2) {
		step(t, w, sched.Addr{}, sched.Message{Kind: sched.Ended, Job: sched.JobID{Lo: 9}, First: task, Attempt: 1, Outcome: sched.Done})
	}
	if kinds, _ := probe(1); len(kinds) != 0 || w.Free() { // it asks for the third try
		t.Fatalf("without long work: %v", kinds)
	}
}
