package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// run is one attempt in a slot, running or suspended.
type run struct {
	msg     sched.Message // as started
	worker  sched.Addr
	since   sched.Time // it runs since, when running
	left    sched.Time // work left at since
	running bool
	version uint32 // grows whenever its end is put off or comes
}

// runTable holds the runs of all workers: a slab with a list per worker, which
// holds one entry unless the policy suspends.
type runTable struct {
	slab     []run
	free     []int32
	byWorker [][]int32
}

func (t *runTable) init(workers int) { t.byWorker = make([][]int32, workers) }

func (t *runTable) add(worker sched.Addr) int32 {
	var i int32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = int32(len(t.slab))
		t.slab = append(t.slab, run{})
	}
	t.byWorker[worker.ID] = append(t.byWorker[worker.ID], i)
	return i
}

// find gives the worker's run of that attempt, nil when it has none.
func (t *runTable) find(worker sched.Addr, id sched.AttemptID) (int32, *run) {
	for _, i := range t.byWorker[worker.ID] {
		if r := &t.slab[i]; r.msg.AttemptID() == id {
			return i, r
		}
	}
	return -1, nil
}

func (t *runTable) remove(i int32) {
	r := &t.slab[i]
	list := t.byWorker[r.worker.ID]
	for k, x := range list {
		if x == i {
			list = append(list[:k], list[k+1:]...)
			break
		}
	}
	t.byWorker[r.worker.ID] = list
	r.running = false
	r.version++
	t.free = append(t.free, i)
}

func (e *engine) start(self sched.Addr, m *sched.Message) {
	job := e.ids[m.Job]
	i := e.runs.add(self)
	r := &e.runs.slab[i]
	r.msg, r.worker = *m, self
	r.left = sched.Time(e.work.Jobs[job].Durations[m.First])
	e.result.Attempts++
	if at := &e.result.Starts[e.result.Jobs[job].FirstTask+int(m.First)]; *at < 0 {
		*at = e.now
	}
	e.observe(m, m.First, "started", self)
	e.run(i)
}

// run lets a run go on from now.
func (e *engine) run(i int32) {
	r := &e.runs.slab[i]
	r.running, r.since = true, e.now
	r.version++
	e.num++
	e.alarms.push(alarm{stamp: stamp{e.now + r.left, e.num}, core: r.worker, run: i, version: r.version})
}

// halt stops a running run and books what it did.
func (e *engine) halt(r *run) {
	did := e.now - r.since
	e.result.Busy += did
	r.left -= did
	r.running = false
	r.version++
}

func (e *engine) suspend(self sched.Addr, m *sched.Message) {
	if _, r := e.runs.find(self, m.AttemptID()); r != nil && r.running {
		e.halt(r)
		e.result.Suspensions++
		e.observe(m, m.First, "suspended", self)
	}
}

func (e *engine) resume(self sched.Addr, m *sched.Message) {
	if i, r := e.runs.find(self, m.AttemptID()); r != nil && !r.running {
		e.observe(m, m.First, "resumed", self)
		e.run(i)
	}
}

func (e *engine) stop(self sched.Addr, m *sched.Message) {
	i, r := e.runs.find(self, m.AttemptID())
	if r == nil {
		return
	}
	if r.running {
		e.halt(r)
	}
	e.finish(i, sched.Killed)
}

// end takes the end of a run, unless it was suspended or stopped since.
func (e *engine) end(a alarm) {
	r := &e.runs.slab[a.run]
	if r.version != a.version {
		return
	}
	e.halt(r)
	e.finish(a.run, sched.Done)
}

func (e *engine) finish(i int32, o sched.Outcome) {
	r := &e.runs.slab[i]
	m := sched.Message{Kind: sched.Ended, Job: r.msg.Job, First: r.msg.First, Attempt: r.msg.Attempt, Outcome: o}
	worker := r.worker
	e.observe(&m, m.First, "ended", worker)
	e.runs.remove(i)
	e.deliver(sched.Addr{}, worker, &m)
}
