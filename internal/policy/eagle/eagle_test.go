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
	d := eagle.NewDistributor(sched.DistributorConfig{Self: distributor, Seed: 1, Params: sched.Params{Cutoff: sched.Second, Reserved: 0.2}}, eagle.Defaults())
	m := sched.Message{Kind: sched.Members, More: &sched.More{}}
	for id := range int32(10) {
		m.More.Members = append(m.More.Members, sched.Member{Worker: worker(id)})
	}
	step(t, d, sched.Addr{}, m)
	return d
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
	rejected := func(try int32, stamp sched.Time, bits uint64) sched.Action {
		t.Helper()
		got := step(t, d, worker(5), sched.Message{Kind: sched.ProbeRejected, Job: one, Attempt: try, More: &sched.More{Bits: []uint64{bits}, Stamp: stamp}})
		if len(got) != 1 || got[0].Msg.Kind != sched.Probe || got[0].Msg.Attempt != try+1 {
			t.Fatalf("did %v", got)
		}
		return got[0]
	}
	const all = 1<<10 - 1
	for range 20 {
		if a := rejected(1, 5, all&^(1<<6)); a.To != worker(6) {
			t.Fatalf("sent to %v; all others have long work", a.To)
		}
		if a := rejected(1, 4, 0); a.To != worker(6) {
			t.Fatalf("an older bitmap sent it to %v", a.To)
		}
		if a := rejected(2, 5, 0); a.To.ID > 1 {
			t.Fatalf("the third try went to %v", a.To)
		}
	}
	if a := rejected(1, 6, all); a.To.ID > 1 {
		t.Fatalf("with long work everywhere it went to %v", a.To)
	}
	step(t, d, worker(0), sched.Message{Kind: sched.GetTask, Job: one})
	if got := step(t, d, worker(5), sched.Message{Kind: sched.ProbeRejected, Job: one, Attempt: 1}); len(got) != 0 {
		t.Fatalf("with no task left it did %v", got)
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
	step(t, w, central, long(0, 8))
	step(t, w, central, long(1, 3))
	for try := int32(1); try <= 2; try++ {
		if kinds, more := probe(try); !slices.Equal(kinds, []sched.Kind{sched.ProbeRejected}) || more.Stamp != 8 {
			t.Fatalf("try %d: %v with %v", try, kinds, more)
		}
	}
	if kinds, _ := probe(3); len(kinds) != 0 {
		t.Fatalf("the third try: %v", kinds)
	}
	for task := range int32(2) {
		step(t, w, sched.Addr{}, sched.Message{Kind: sched.Ended, Job: sched.JobID{Lo: 9}, First: task, Attempt: 1, Outcome: sched.Done})
	}
	if kinds, _ := probe(1); len(kinds) != 0 || w.Free() { // it asks for the third try
		t.Fatalf("without long work: %v", kinds)
	}
}
