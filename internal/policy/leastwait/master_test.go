package leastwait_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy/leastwait"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var distributor = sched.Addr{Role: sched.Distributor, ID: 7}

func worker(id int32) sched.Addr { return sched.Addr{Role: sched.Worker, ID: id} }

func job(n uint64) sched.JobID { return sched.JobID{Lo: n} }

type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

type master struct {
	t    tester
	core *leastwait.Master
	now  sched.Time
	out  sched.Actions
}

func newMaster(t tester, share float64, bits bool, workers int32) *master {
	m := &master{t: t, core: leastwait.New(sched.MasterConfig{Params: sched.Params{Cutoff: sched.Second, Reserved: share}}, bits)}
	for id := range workers {
		m.step(sched.Addr{}, sched.Message{Kind: sched.WorkerUp, Peer: worker(id), Serves: []string{""}})
	}
	return m
}

func (m *master) step(from sched.Addr, msg sched.Message) []sched.Action {
	m.t.Helper()
	m.out.Reset()
	m.core.Step(m.now, from, &msg, &m.out)
	if err := m.core.Valid(); err != nil {
		m.t.Fatalf("after %s: %v", sched.Describe(&msg), err)
	}
	return slices.Clone(m.out.List())
}

// place sends tasks of a job and returns their workers.
func (m *master) place(n uint64, count int32, estimate sched.Time) (at []int32) {
	m.t.Helper()
	for _, a := range m.step(distributor, tasks(n, count, estimate)) {
		if a.Msg.Kind == sched.Launch {
			at = append(at, a.To.ID)
		}
	}
	return at
}

func tasks(n uint64, count int32, estimate sched.Time) sched.Message {
	return sched.Message{Kind: sched.Tasks, Job: job(n), Count: count, Attempt: 1, Class: sched.Long, Distributor: distributor, Estimate: estimate}
}

func (m *master) started(n uint64, task, at int32) {
	m.t.Helper()
	m.step(worker(at), sched.Message{Kind: sched.Started, Job: job(n), First: task, Attempt: 1})
}

func (m *master) ended(n uint64, task, at int32) []sched.Action {
	m.t.Helper()
	return m.step(worker(at), sched.Message{Kind: sched.Idle, Job: job(n), First: task, Attempt: 1})
}

// The worked numbers of the package.
func TestWorkedNumbers(t *testing.T) {
	m := newMaster(t, 0, false, 3)
	m.place(1, 1, 20*sched.Second)
	m.started(1, 0, 0)
	m.now = 4 * sched.Second
	m.place(2, 1, 10*sched.Second)
	m.started(2, 0, 1)
	m.place(3, 1, 4*sched.Second)
	m.now = 15 * sched.Second
	if at := m.place(4, 3, 3*sched.Second); !slices.Equal(at, []int32{1, 1, 2}) {
		t.Fatalf("the tasks went to %v", at)
	}
}

// docs/policies.md, hawk: "ties to the lowest number".
func TestTies(t *testing.T) {
	if at := newMaster(t, 0, false, 3).place(1, 7, sched.Second); !slices.Equal(at, []int32{0, 1, 2, 0, 1, 2, 0}) {
		t.Fatalf("the tasks went to %v", at)
	}
}

// Estimates of any size are added up without overflow: the tasks are divided evenly.
func TestHugeEstimates(t *testing.T) {
	for _, estimate := range []sched.Time{sched.MaxEstimate, 4e9 * sched.Second} {
		m := newMaster(t, 0, false, 2)
		m.place(1, 1, estimate)
		m.started(1, 0, 0)
		if at := m.place(2, 5, estimate); !slices.Equal(at, []int32{1, 0, 1, 0, 1}) {
			t.Errorf("with estimates of %v ns the tasks went to %v", estimate, at)
		}
	}
}

// docs/policies.md, hawk: "the reserved partition is the first round(share x
// workers)."
func TestReservedPartition(t *testing.T) {
	for share, first := range map[float64]int32{0: 0, 0.1: 1, 0.24: 2, 0.25: 3, 0.26: 3} {
		if at := newMaster(t, share, false, 10).place(1, 10, sched.Second); slices.Min(at) != first {
			t.Errorf("share %v: the lowest general worker is %d, want %d", share, slices.Min(at), first)
		}
	}
}

// The two heaps against a scan of all workers.
func TestLeastWaitIsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const workers = 6
		m := newMaster(t, 0, false, workers)
		type piece struct {
			job      uint64
			estimate sched.Time
		}
		var assigned [workers][]piece
		var running [workers]*piece
		var since [workers]sched.Time
		wait := func(w int) (sum sched.Time) {
			for _, p := range assigned[w] {
				sum += p.estimate
			}
			if r := running[w]; r != nil {
				sum += max(since[w]+r.estimate-m.now, 0)
			}
			return sum
		}
		for n := range rapid.Uint64Range(1, 60).Draw(t, "steps") {
			m.now += sched.Time(rapid.IntRange(0, 3).Draw(t, "later"))
			w := rapid.IntRange(0, workers-1).Draw(t, "worker")
			switch {
			case rapid.Bool().Draw(t, "arrives"):
				best := 0
				for i := range workers {
					if wait(i) < wait(best) {
						best = i
					}
				}
				p := piece{n + 1, sched.Time(rapid.IntRange(1, 9).Draw(t, "estimate"))}
				if at := m.place(p.job, 1, p.estimate); len(at) != 1 || int(at[0]) != best {
					t.Fatalf("a task went to %v, worker %d waits least", at, best)
				}
				assigned[best] = append(assigned[best], p)
			case running[w] != nil:
				m.ended(running[w].job, 0, int32(w))
				running[w] = nil
			case len(assigned[w]) > 0:
				p := assigned[w][0]
				assigned[w], running[w], since[w] = assigned[w][1:], &p, m.now
				m.started(p.job, 0, int32(w))
			}
		}
	})
}

// docs/design.md, section 2, rule 3, and the package comment on failures.
func TestWorkerLost(t *testing.T) {
	m := newMaster(t, 0, false, 2)
	m.place(1, 6, sched.Second) // three at each worker
	m.started(1, 0, 0)
	m.ended(1, 0, 0)
	m.started(1, 2, 0)
	var lost, moved []int32
	for _, a := range m.step(sched.Addr{}, sched.Message{Kind: sched.WorkerLost, Peer: worker(0), Reason: "it died"}) {
		switch a.Msg.Kind {
		case sched.AttemptLost:
			lost = append(lost, a.Msg.First)
		case sched.Returned:
			if a.Msg.Resent {
				moved = append(moved, a.Msg.First)
			}
		}
	}
	// The report of task 0 may be lost with the worker, and task 4 may have started there
	// meanwhile: their distributor decides.
	if !slices.Equal(lost, []int32{0, 2}) || !slices.Equal(moved, []int32{4}) {
		t.Errorf("lost %v, returned %v", lost, moved)
	}
	got := m.step(sched.Addr{}, sched.Message{Kind: sched.WorkerLost, Peer: worker(1)})
	returned := 0
	for _, a := range got {
		if a.Msg.Kind == sched.Returned {
			returned++
		}
	}
	if got[0].Msg.Kind != sched.Serves || len(got[0].Msg.Serves) != 0 || returned != 3 {
		t.Errorf("without a worker it did %v", got)
	}
}

// A task that is no longer wanted is killed wherever it is; repeats change nothing.
func TestDropAndRepeats(t *testing.T) {
	m := newMaster(t, 0, true, 2)
	m.place(1, 3, sched.Second)
	if at := m.place(1, 3, sched.Second); len(at) != 0 {
		t.Fatalf("the same tasks went to %v again", at)
	}
	m.started(1, 0, 0)
	m.started(1, 0, 0)
	m.started(1, 1, 0) // which is at the other worker
	var killed []string
	for _, a := range m.step(distributor, sched.Message{Kind: sched.Drop, Job: job(1)}) {
		if a.Msg.Kind == sched.Kill {
			killed = append(killed, fmt.Sprint(a.To.ID, "/", a.Msg.First))
		}
	}
	if want := []string{"0/0", "0/2", "1/1"}; !slices.Equal(killed, want) {
		t.Fatalf("killed %v, want %v", killed, want)
	}
	got := m.ended(1, 0, 0)
	if len(got) != 1 || got[0].Kind != sched.Forget || got[0].Msg.Job != job(1) {
		t.Fatalf("did %v", got)
	}
	if got := m.ended(1, 0, 0); len(got) != 0 {
		t.Fatalf("did %v", got)
	}
}

// A drop of some tasks of a job leaves its other tasks alone, and those of other jobs.
func TestDropOfSomeTasks(t *testing.T) {
	m := newMaster(t, 0, false, 1)
	m.place(1, 5, sched.Second)
	m.place(2, 5, sched.Second)
	m.started(1, 0, 0)
	var killed []string
	for _, a := range m.step(distributor, sched.Message{Kind: sched.Drop, Job: job(1), First: 1, Count: 2}) {
		killed = append(killed, fmt.Sprint(a.Msg.Kind, " ", a.Msg.Job.Lo, "/", a.Msg.First))
	}
	if want := []string{"Kill 1/1", "Kill 1/2"}; !slices.Equal(killed, want) {
		t.Fatalf("did %v, want %v", killed, want)
	}
}

// docs/policies.md, eagle: "A bitmap of the workers that run or queue long work, with
// the time at which it was drawn, is sent with every long task, as it was before that
// job was placed".
func TestBitmap(t *testing.T) {
	m := newMaster(t, 0, true, 70)
	bits := func(n uint64, count int32) *sched.More {
		m.now++
		return m.step(distributor, tasks(n, count, sched.Second))[0].Msg.More
	}
	first := bits(1, 66)
	second := bits(2, 1)
	if len(first.Bits) != 0 || second.Stamp <= first.Stamp || !slices.Equal(second.Bits, []uint64{^uint64(0), 3}) {
		t.Fatalf("handed out %v, then %v", first, second)
	}
	m.ended(1, 3, 3)
	if third := bits(3, 1); third.Bits[0] != ^uint64(1<<3) || second.Bits[0] != ^uint64(0) {
		t.Fatalf("handed out %v after %v", third, second)
	}
}
