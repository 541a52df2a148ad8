package hawk_test

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/hawk"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var (
	distributor = sched.Addr{Role: sched.Distributor, ID: 7}
	central     = sched.Addr{Role: sched.Master}
)

func worker(id int32) sched.Addr { return sched.Addr{Role: sched.Worker, ID: id} }

type slot struct {
	t    *testing.T
	core *hawk.Worker
	out  sched.Actions
}

// newSlot returns worker 5 of 8, the first 4 of which are reserved.
func newSlot(t *testing.T, tries int) *slot {
	o := hawk.Defaults()
	o.Tries = tries
	cfg := sched.WorkerConfig{Self: worker(5), Master: central, Seed: 1, Params: sched.Params{Reserved: 0.5}}
	s := &slot{t: t, core: hawk.NewWorker(cfg, o)}
	m := sched.Message{Kind: sched.Members, More: &sched.More{}}
	for id := range int32(8) {
		m.More.Members = append(m.More.Members, sched.Member{Worker: worker(id)})
	}
	s.step(sched.Addr{}, m)
	return s
}

func (s *slot) step(from sched.Addr, m sched.Message) []sched.Action {
	s.t.Helper()
	s.out.Reset()
	s.core.Step(0, from, &m, &s.out)
	if err := s.core.Valid(); err != nil {
		s.t.Fatalf("after %s: %v", sched.Describe(&m), err)
	}
	return slices.Clone(s.out.List())
}

func (s *slot) probe(job uint64) []sched.Action {
	return s.step(distributor, sched.Message{Kind: sched.Probe, Job: sched.JobID{Lo: job}, Distributor: distributor, Count: 1, Attempt: 1})
}

func (s *slot) long(job uint64) []sched.Action {
	return s.step(central, sched.Message{Kind: sched.Launch, Job: sched.JobID{Lo: job}, Attempt: 1, Distributor: distributor, Class: sched.Long})
}

func (s *slot) noTask(job, seq uint64) []sched.Action {
	return s.step(distributor, sched.Message{Kind: sched.NoTask, Job: sched.JobID{Lo: job}, Seq: seq})
}

// steal returns the jobs whose reservations another worker is handed.
func (s *slot) steal() (jobs []uint64) {
	s.t.Helper()
	got := s.step(worker(6), sched.Message{Kind: sched.Steal})
	if len(got) == 0 || got[0].To != worker(6) || got[0].Msg.Kind != sched.Stolen {
		s.t.Fatalf("answered %v", got)
	}
	if more := got[0].Msg.More; more != nil {
		for _, p := range more.Probes {
			jobs = append(jobs, p.Job.Lo)
		}
	}
	return jobs
}

// docs/policies.md, hawk: "the first run of short reservations queued behind a long
// one: at a worker that runs long work from the head of its queue, else behind its
// first long". The queue is that of the package's worked example.
func TestFirstRunBehindLongWork(t *testing.T) {
	queue := func(s *slot) { // s1 L11 s2 s3 L12 s4, while s1 asks
		s.probe(1)
		s.long(11)
		s.probe(2)
		s.probe(3)
		s.long(12)
		s.probe(4)
	}
	s := newSlot(t, 0)
	queue(s)
	for i, want := range [][]uint64{{2, 3}, {4}, nil} {
		if got := s.steal(); !slices.Equal(got, want) {
			t.Errorf("theft %d returns %v, want %v", i, got, want)
		}
	}
	s = newSlot(t, 0)
	s.long(10) // runs
	queue(s)
	for i, want := range [][]uint64{{1}, {2, 3}, {4}, nil} {
		if got := s.steal(); !slices.Equal(got, want) {
			t.Errorf("theft %d while a long task runs returns %v, want %v", i, got, want)
		}
	}
	s = newSlot(t, 0)
	s.probe(1)
	s.probe(2)
	if got := s.steal(); got != nil {
		t.Errorf("without long work it returns %v", got)
	}
}

// docs/policies.md, hawk: "A worker with an empty queue requests from a random general
// worker (up to 10 tries, one after another, once per turn to idle)".
func TestTries(t *testing.T) {
	s := newSlot(t, 10)
	s.probe(1)
	got := s.noTask(1, 1)
	asked := map[int32]bool{}
	tries := 0
	for len(got) == 1 && got[0].Msg.Kind == sched.Steal {
		tries++
		asked[got[0].To.ID] = true
		got = s.step(got[0].To, sched.Message{Kind: sched.Stolen})
	}
	if tries != 10 || len(got) != 0 {
		t.Errorf("%d workers were asked, then %v", tries, got)
	}
	for id := range asked {
		if id < 4 || id == 5 {
			t.Errorf("worker %d was asked: it is reserved, or the asking one", id)
		}
	}
	if got := s.step(worker(4), sched.Message{Kind: sched.Stolen}); len(got) != 0 {
		t.Errorf("an unexpected answer made it do %v", got)
	}
	s.probe(2)
	if got := s.noTask(2, 2); len(got) != 1 || got[0].Msg.Kind != sched.Steal {
		t.Errorf("at its next turn to idle it did %v", got)
	}
}

// A stolen reservation is served like any other, and ends the search for more.
func TestStolen(t *testing.T) {
	s := newSlot(t, 10)
	s.probe(1)
	victim := s.noTask(1, 1)[0].To
	got := s.step(victim, sched.Message{Kind: sched.Stolen, More: &sched.More{Probes: []sched.Probed{
		{Job: sched.JobID{Lo: 8}, Distributor: distributor}, {Job: sched.JobID{Lo: 9}, Distributor: distributor},
	}}})
	if len(got) != 1 || got[0].Msg.Kind != sched.GetTask || got[0].Msg.Job.Lo != 8 {
		t.Fatalf("did %v", got)
	}
	if got := s.noTask(8, 2); len(got) != 1 || got[0].Msg.Job.Lo != 9 {
		t.Fatalf("did %v", got)
	}
}

// A probe that arrives while it asks is served at once, and after an empty answer
// it then asks no other worker.
func TestProbeWhileStealing(t *testing.T) {
	s := newSlot(t, 10)
	s.probe(1)
	victim := s.noTask(1, 1)[0].To
	if got := s.probe(2); len(got) != 1 || got[0].Msg.Kind != sched.GetTask {
		t.Fatalf("did %v", got)
	}
	if got := s.step(victim, sched.Message{Kind: sched.Stolen}); len(got) != 0 {
		t.Fatalf("did %v", got)
	}
}

// A worker alone in the general partition asks no other.
func TestNobodyToAsk(t *testing.T) {
	s := newSlot(t, 10)
	s.step(sched.Addr{}, sched.Message{Kind: sched.Members, More: &sched.More{Members: []sched.Member{{Worker: worker(1)}, {Worker: worker(5)}}}})
	s.probe(1)
	if got := s.noTask(1, 1); len(got) != 0 {
		t.Fatalf("did %v", got)
	}
}

// Reservations given to a thief are served here when it is taken for lost: it may
// live, and never get them. Once.
func TestThiefTakenForLost(t *testing.T) {
	all := func(but int32) sched.Message {
		m := sched.Message{Kind: sched.Members, More: &sched.More{}}
		for id := range int32(8) {
			if id != but {
				m.More.Members = append(m.More.Members, sched.Member{Worker: worker(id)})
			}
		}
		return m
	}
	s := newSlot(t, 0)
	s.long(10) // runs
	s.probe(1)
	s.probe(2)
	for round, c := range []struct {
		gone int32
		want []uint64
	}{{-1, []uint64{1, 2}}, {7, nil}, {6, nil}, {-1, []uint64{1, 2}}, {7, nil}} {
		s.step(sched.Addr{}, all(c.gone))
		if round == 2 {
			continue // it is informed before any steal
		}
		if got := s.steal(); !slices.Equal(got, c.want) {
			t.Errorf("theft %d returns %v, want %v", round, got, c.want)
		}
	}
}
