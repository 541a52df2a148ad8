package nodemonitor

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// attempt is an attempt at a worker, from its launch to its end, with what the core
// does not know of it. It belongs to the owner goroutine.
//
//	launched ──Start──▶ running ──Suspend──▶ suspended
//	    │                │    ◀────Resume───────┘  │
//	    ▼                └──────── ended ◀─────────┘
//	 waiting ──Start──▶ running; or killed before that, and forgotten
type attempt struct {
	wire.Extra // of the launch
	id         sched.AttemptID
	class      sched.Class
	app        string
	owner      sched.Addr
	estimate   sched.Time
	received   time.Time
	since      time.Time     // it runs since, while it does
	ran        time.Duration // before that
	worker     *worker
	phase      phase
	backend    backend.Backend // once it has started; nil for a twin
	twin       bool            // it is here already, elsewhere: nothing was started
	killed     bool            // its end was asked for
}

// phase is what an attempt does.
type phase uint8

const (
	waiting   phase = iota // in the worker's own queue
	running                // in a slot
	suspended              // started, and stopped for now
)

// String returns the phase's word.
func (p phase) String() string { return [...]string{"waiting", "running", "suspended"}[p] }

// manyAttempts is how many a worker looks through for one; beyond, it has an index.
const manyAttempts = 16

// find returns the worker's attempt of that id, nil when it is not here. There are
// few, but where a central scheduler queues long work at the workers.
func (w *worker) find(id sched.AttemptID) *attempt {
	if w.byID != nil {
		return w.byID[id]
	}
	for _, a := range w.attempts {
		if a.id == id {
			return a
		}
	}
	return nil
}

// index keeps the index in step with the attempts, of which one came.
func (w *worker) index(a *attempt) {
	switch {
	case w.byID != nil:
		w.byID[a.id] = a
	case len(w.attempts) > manyAttempts:
		w.byID = make(map[sched.AttemptID]*attempt, 2*len(w.attempts))
		for _, a := range w.attempts {
			w.byID[a.id] = a
		}
	}
}

// admit makes an attempt of the launch that is being stepped.
func (o *owner) admit(w *worker) *attempt {
	var a *attempt
	if n := len(o.spare); n > 0 {
		a = o.spare[n-1]
		o.spare = o.spare[:n-1]
	} else {
		a = new(attempt)
	}
	it := w.launch
	*a = attempt{
		Extra: it.Extra, id: it.Msg.AttemptID(), class: it.Msg.Class, app: it.Msg.App, owner: it.Msg.Owner, estimate: it.Msg.Estimate,
		received: w.at, worker: w,
	}
	w.attempts = append(w.attempts, a)
	w.index(a)
	o.attempts++
	o.meter.launches.Inc()
	return a
}

// drop forgets an attempt that is not at its worker any more.
func (o *owner) drop(a *attempt) {
	o.enter(a, waiting)
	if o.runs[a.id] == a {
		delete(o.runs, a.id)
	}
	w := a.worker
	i := slices.Index(w.attempts, a)
	w.attempts = slices.Delete(w.attempts, i, i+1)
	if delete(w.byID, a.id); len(w.attempts) == 0 {
		w.byID = nil
	}
	o.attempts--
	*a = attempt{}
	if len(o.spare) < len(o.workers) {
		o.spare = append(o.spare, a) // so that a task costs no allocation
	}
}

// enter has the attempt in a phase, and keeps count of the slots by state.
func (o *owner) enter(a *attempt, p phase) {
	w := a.worker
	before := w.running
	if a.phase == running {
		w.running--
		a.ran = a.service()
	}
	if p == running {
		w.running++
		a.since = time.Now()
	}
	o.meter.slots[w.counted][busySlot] += w.running - before
	o.meter.slots[w.counted][idleSlot] -= w.running - before
	a.phase = p
}

// service is how long the attempt has run so far.
func (a *attempt) service() time.Duration {
	if a.phase == running {
		return a.ran + time.Since(a.since)
	}
	return a.ran
}

// runningNow returns the first of the attempts that run, nil for none.
func (w *worker) runningNow() *attempt {
	for _, a := range w.attempts {
		if a.phase == running {
			return a
		}
	}
	return nil
}
