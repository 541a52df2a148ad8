package pigeon

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// learner is a master of pigeon-x with one worker and a job of class long that came at
// 1 s: two tasks, one of which runs.
type learner struct {
	t   *testing.T
	m   *Master
	now sched.Time
	seq uint64
}

var teacher = sched.Addr{Role: sched.Distributor}

func newLearner(t *testing.T) *learner {
	p := &learner{t: t, m: NewMasterWith(sched.MasterConfig{Params: sched.Params{Cutoff: second}}, XOptions()), now: second}
	p.fromShell(sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: 3}})
	p.fromShell(sched.Message{Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker}, Node: "n", Serves: []string{""}, Fixed: true})
	p.task(1, sched.Message{Class: sched.Long, Count: 2, Total: 9})
	return p
}

func (p *learner) from(from sched.Addr, m sched.Message) {
	p.t.Helper()
	var out sched.Actions
	p.m.Step(p.now, from, &m, &out)
	if err := p.m.Valid(); err != nil {
		p.t.Fatalf("after %s: %v", sched.Describe(&m), err)
	}
}

func (p *learner) fromShell(m sched.Message) { p.t.Helper(); p.from(sched.Addr{}, m) }

// task sends tasks of a job that came now.
func (p *learner) task(job uint64, m sched.Message) {
	p.t.Helper()
	m.Kind, m.Job, m.Attempt, m.Distributor, m.Arrival, m.Count = sched.Tasks, sched.JobID{Lo: job}, 1, teacher, p.now, max(m.Count, 1)
	p.from(teacher, m)
}

// ends ends the worker's task.
func (p *learner) ends() {
	p.t.Helper()
	w := p.m.workers[0]
	p.seq = max(p.seq, w.seq) + 1
	p.from(w.addr, sched.Message{Kind: sched.Idle, Seq: p.seq})
}

// The limit follows the ages at which long jobs end here. A task that leaves this
// group otherwise has not ended.
func TestWhatIsLearned(t *testing.T) {
	const start = firstLimit * second
	lower, higher := start-start/limitDown, start+start/limitUp
	for name, c := range map[string]struct {
		want sched.Time
		do   func(*learner)
	}{
		"one of two tasks ended": {start, func(p *learner) { p.ends() }},
		"both ended":             {lower, func(p *learner) { p.ends(); p.ends() }},
		"ended late":             {higher, func(p *learner) { p.ends(); p.now += start + 1; p.ends() }},
		"ended at the limit":     {lower, func(p *learner) { p.ends(); p.now += start; p.ends() }},
		"short":                  {lower, func(p *learner) { p.ends(); p.ends(); p.task(2, sched.Message{}); p.ends() }},
		"cancelled": {start, func(p *learner) {
			p.fromShell(sched.Message{Kind: sched.Drop, Job: sched.JobID{Lo: 1}})
			p.ends()
		}},
		"moved": {start, func(p *learner) {
			p.ends()
			p.task(2, sched.Message{Class: sched.Long})
			p.from(sched.Addr{Role: sched.Master, ID: 3}, sched.Message{Kind: sched.Spare, Serves: []string{""}})
		}},
		"the worker is lost": {start, func(p *learner) {
			p.ends()
			p.fromShell(sched.Message{Kind: sched.WorkerLost, Peer: sched.Addr{Role: sched.Worker}})
		}},
		"given back": {start, func(p *learner) {
			p.fromShell(sched.Message{Kind: sched.WorkerServes, Peer: sched.Addr{Role: sched.Worker}, Serves: []string{"a"}})
		}},
		"its age is not known": {lower, func(p *learner) {
			p.ends()
			p.ends()
			p.fromShell(sched.Message{
				Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: 1}, Node: "n", Serves: []string{""}, Fixed: true,
				Job: sched.JobID{Lo: 2}, Attempt: 1, Class: sched.Long, Distributor: teacher, Seq: 1,
			})
			p.from(sched.Addr{Role: sched.Worker, ID: 1}, sched.Message{Kind: sched.Idle, Seq: 2})
		}},
		"it arrived at the instant 0": {lower - lower/limitDown, func(p *learner) {
			p.ends()
			p.ends()
			p.from(teacher, sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 2}, Class: sched.Long, Count: 1, Total: 1, Attempt: 1, Distributor: teacher})
			p.ends()
		}},
		"a canary was stopped": {lower, func(p *learner) {
			p.ends()
			p.ends()
			p.task(2, sched.Message{Class: sched.Long, Marks: sched.Canary | sched.Restartable})
			p.task(3, sched.Message{})
			p.now += second
			p.fromShell(sched.Message{Kind: sched.Timeout, Token: cutoffOver})
			p.ends()
		}},
		"suspended, it had ended": {lower, func(p *learner) {
			p.ends()
			p.m.jobs[sched.JobID{Lo: 1}].Marks = sched.Stoppable
			extended(p.m).changed(p.m.workers[0], p.m.workers[0].job)
			p.task(2, sched.Message{})
			p.from(p.m.workers[0].addr, sched.Message{Kind: sched.Idle, Seq: 9, Job: sched.JobID{Lo: 1}, First: 1, Attempt: 1})
		}},
	} {
		p := newLearner(t)
		if c.do(p); extended(p.m).tail.limit != c.want {
			t.Errorf("%s: the limit is %d, want %d", name, extended(p.m).tail.limit, c.want)
		}
	}
}

// A master that knows a job from a node alone receives its total with the tasks.
func TestTotalIsLearnedFromTasks(t *testing.T) {
	p := newLearner(t)
	p.fromShell(sched.Message{
		Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: 1}, Node: "n", Serves: []string{""}, Fixed: true,
		Job: sched.JobID{Lo: 2}, Attempt: 1, Class: sched.Long, Distributor: teacher, Seq: 1,
	})
	f := extended(p.m).facts[p.m.jobs[sched.JobID{Lo: 2}]]
	if f.total != 0 {
		t.Fatalf("a node set the total %d", f.total)
	}
	p.task(2, sched.Message{Class: sched.Long, First: 1, Total: 7})
	p.task(2, sched.Message{Class: sched.Long, First: 2})
	if f.total != 7 {
		t.Errorf("the total is %d, want 7", f.total)
	}
}
