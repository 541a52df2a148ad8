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
	now  sched.Time
	out  sched.Actions
}

// newSlot returns worker 5 of 8, the first 4 of which are reserved.
func newSlot(t *testing.T, tries int) *slot {
	o := hawk.Defaults()
	o.Tries = tries
	cfg := sched.WorkerConfig{Self: worker(5), Master: central, Seed: 1, Params: sched.Params{Reserved: 0.5}}
	s := &slot{t: t, core: hawk.NewWorker(cfg, o)}
	s.step(sched.Addr{}, members(0, 1, 2, 3, 4, 5, 6, 7))
	return s
}

func members(ids ...int32) sched.Message {
	m := sched.Message{Kind: sched.Members, More: &sched.More{}}
	for _, id := range ids {
		m.More.Members = append(m.More.Members, sched.Member{Worker: worker(id)})
	}
	return m
}

// docs/policies.md, hawk: the defaults of `ratio` and `tries`.
func TestDefaults(t *testing.T) {
	if got, want := hawk.Defaults(), (hawk.Options{Ratio: 2, Tries: 10}); got != want {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
}

func (s *slot) step(from sched.Addr, m sched.Message) []sched.Action {
	s.t.Helper()
	s.out.Reset()
	s.core.Step(s.now, from, &m, &s.out)
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

// It asks one worker at a time, however often it turns idle meanwhile, and an answer of another
// worker does not count as the one that it waits for.
func TestOneRequestAtATime(t *testing.T) {
	s := newSlot(t, 10)
	s.probe(1)
	victim := s.noTask(1, 1)[0].To
	s.probe(2)
	if got := s.noTask(2, 2); len(got) != 0 {
		t.Fatalf("while worker %v has not answered it did %v", victim, got)
	}
	if got := s.step(worker(1), sched.Message{Kind: sched.Stolen}); len(got) != 0 {
		t.Fatalf("after the answer of a worker that it did not ask it did %v", got)
	}
	if got := s.step(victim, sched.Message{Kind: sched.Stolen}); len(got) != 1 || got[0].Msg.Kind != sched.Steal {
		t.Fatalf("after the empty answer it did %v, want one request to steal", got)
	}
}

// docs/cores.md, hawk and eagle: "a thief whose victim is lost stops waiting for it": it asks another one
// when it turns idle again.
func TestVictimLost(t *testing.T) {
	s := newSlot(t, 10)
	s.step(sched.Addr{}, members(0, 5, 6))
	s.probe(1)
	if got := s.noTask(1, 1); len(got) != 1 || got[0].To != worker(6) {
		t.Fatalf("did %v, want a request to worker 6", got)
	}
	s.step(sched.Addr{}, members(0, 5, 7))
	s.probe(2)
	if got := s.noTask(2, 2); len(got) != 1 || got[0].Msg.Kind != sched.Steal || got[0].To != worker(7) {
		t.Fatalf("did %v, want a request to worker 7", got)
	}
}

// A worker asks the other workers of the general partition, of which there may be one or none.
func TestWhomToAsk(t *testing.T) {
	for name, c := range map[string]struct {
		members []int32 // the first half is reserved
		want    []sched.Addr
	}{
		"nobody":              {nil, nil},
		"alone":               {[]int32{1, 5}, nil},
		"all reserved":        {[]int32{5}, nil},
		"reserved, one other": {[]int32{5, 6}, []sched.Addr{worker(6)}},
	} {
		s := newSlot(t, 10)
		s.step(sched.Addr{}, members(c.members...))
		s.probe(1)
		var asked []sched.Addr
		for _, a := range s.noTask(1, 1) {
			asked = append(asked, a.To)
		}
		if !slices.Equal(asked, c.want) {
			t.Errorf("%s: it asked %v, want %v", name, asked, c.want)
		}
	}
}

// Reservations given to a thief are served here when it is taken for lost: it may
// live, and never get them. Once.
func TestThiefTakenForLost(t *testing.T) {
	all := func(but int32) sched.Message {
		return members(slices.DeleteFunc([]int32{0, 1, 2, 3, 4, 5, 6, 7}, func(id int32) bool { return id == but })...)
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

// docs/cores.md, hawk and eagle: a worker takes back the reservations "that a thief stole within the last
// minute"; the others it forgets, so that they do not add up.
func TestOldTheftsAreForgotten(t *testing.T) {
	for after, want := range map[sched.Time][]uint64{60 * sched.Second: {1, 2}, 60*sched.Second + 1: {2}} {
		s := newSlot(t, 0)
		s.now = 5 * sched.Second
		s.long(10) // runs
		s.probe(1)
		s.steal()
		s.now += after
		s.probe(2)
		s.steal()
		s.step(sched.Addr{}, members(0, 1, 2, 3, 4, 5, 7)) // without the thief
		if got := s.steal(); !slices.Equal(got, want) {
			t.Errorf("%d s after the first theft it took back %v, want %v", after/sched.Second, got, want)
		}
	}
}
