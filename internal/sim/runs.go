package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// run is one attempt in a slot, running or suspended.
type run struct {
	msg     sched.Message // as started
	worker  sched.Addr
	since   sched.Time // start of the current stretch, while running
	left    sched.Time // remaining work at since
	running bool
	slots   sched.Time // that it takes
	version uint32     // incremented whenever its end is deferred or processed
}

// runTable holds the runs of all workers in a slab, with a list for each worker. A list
// has one entry unless the policy suspends tasks.
type runTable struct {
	slab     []run
	free     []int32
	byWorker [][]int32
	ready    []sched.Time // by worker: until then it suspends or resumes a task
}

// grow makes room for the given number of workers.
func (t *runTable) grow(workers int) {
	t.byWorker = append(t.byWorker, make([][]int32, workers-len(t.byWorker))...)
	t.ready = append(t.ready, make([]sched.Time, workers-len(t.ready))...)
}

// switchCost returns how long a worker is busy when it suspends or resumes a task.
func (c *Config) switchCost() sched.Time {
	if !c.Policy.Suspending {
		return 0
	}
	return c.Params.Cutoff / 200
}

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

// find returns the worker's run of an attempt, or nil.
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
	if e.world != nil && !e.world.admits(self, m) {
		return
	}
	job := e.jobIndex[m.Job]
	i := e.runs.add(self)
	r := &e.runs.slab[i]
	r.msg, r.worker = *m, self
	r.left, r.slots = sched.Time(e.work[job].Durations[m.First]), sched.Time(max(1, e.work[job].Slots))
	e.result.Attempts++
	if at := &e.result.Starts[e.result.Jobs[job].FirstTask+int(m.First)]; *at < 0 {
		*at = max(e.now, e.runs.ready[self.ID])
	}
	e.observe(m, m.First, "started", self)
	e.proceed(i)
}

// proceed starts or resumes a run as soon as its worker is free.
func (e *engine) proceed(i int32) {
	r := &e.runs.slab[i]
	r.running, r.since = true, max(e.now, e.runs.ready[r.worker.ID])
	r.version++
	e.num++
	e.alarms.push(alarm{stamp: stamp{r.since + r.left, e.num}, core: r.worker, run: i, version: r.version})
}

// halt stops a running run and accounts for the work that it has done. A run on a node that was
// paused may be overdue: its end waits for the node.
func (e *engine) halt(r *run) {
	did := max(0, e.now-r.since)
	e.result.Busy += did * r.slots
	r.left = max(0, r.left-did)
	r.running = false
	r.version++
}

func (e *engine) suspend(self sched.Addr, m *sched.Message) {
	if _, r := e.runs.find(self, m.AttemptID()); r != nil && r.running {
		e.halt(r)
		e.occupy(self)
		e.result.Suspensions++
		e.observe(m, m.First, "suspended", self)
	}
}

func (e *engine) resume(self sched.Addr, m *sched.Message) {
	if i, r := e.runs.find(self, m.AttemptID()); r != nil && !r.running {
		e.observe(m, m.First, "resumed", self)
		e.occupy(self)
		e.proceed(i)
	}
}

// occupy keeps the worker busy while it suspends or resumes a task.
func (e *engine) occupy(worker sched.Addr) {
	ready := &e.runs.ready[worker.ID]
	*ready = max(*ready, e.now) + e.cfg.switchCost()
}

func (e *engine) stop(self sched.Addr, m *sched.Message) {
	i, r := e.runs.find(self, m.AttemptID())
	if r == nil {
		return
	}
	if r.running {
		e.halt(r)
	}
	e.stopped = append(e.stopped, i)
}

// end ends a run, unless the run was suspended or stopped after the alarm was set.
func (e *engine) end(a alarm) {
	r := &e.runs.slab[a.run]
	if r.version != a.version {
		return
	}
	if e.world != nil {
		e.world.nodeShells.runDue(a)
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
	if e.world != nil {
		e.world.nodeShells.reportEnded(worker, &m)
		return
	}
	e.deliver(sched.Addr{}, worker, &m)
	if e.beside != nil {
		e.endBeside(&m)
	}
}
