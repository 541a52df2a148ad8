package grants

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

var _ backend.Backend = (*Holds)(nil)

// Holds is the backend of attempts that hold slots for executors without grants. It is
// safe for concurrent use. Make one with [NewHolds].
type Holds struct {
	node string

	guarded
	byApp  map[string]*hold // by the application that its attempts name
	closed bool
}

// hold is the slots that an executor without grants waits for, and then has.
type hold struct {
	slots   int
	full    func()
	held    map[sched.AttemptID]*heldSlot
	reached bool // full was called
}

// heldSlot is an attempt that holds a slot.
type heldSlot struct {
	done   func(backend.Result)
	began  time.Time
	killed bool
}

// NewHolds returns no holds; Close ends them. changed is called without a lock when
// Serving has changed.
func NewHolds(node string, changed func()) *Holds {
	h := &Holds{node: node, byApp: map[string]*hold{}}
	h.init(h.unfilled, changed)
	return h
}

// HoldName returns the application that is named by attempts which hold slots for an
// executor: only the executor's node serves it.
func HoldName(app, executorID string) string { return app + "/" + executorID }

// Hold waits for slots for an executor. full is called once, without a lock, when all
// are held.
func (h *Holds) Hold(app, executorID string, slots int, full func()) {
	h.update(func(e *ends) {
		name := HoldName(app, executorID)
		if h.closed || h.byApp[name] != nil {
			return
		}
		h.byApp[name] = &hold{slots: slots, full: full, held: map[sched.AttemptID]*heldSlot{}}
		if slots == 0 {
			h.byApp[name].reached = true
			e.add(full)
		}
	})
}

// Holding returns how many slots are held for the executor.
func (h *Holds) Holding(app, executorID string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x := h.byApp[HoldName(app, executorID)]; x != nil {
		return len(x.held)
	}
	return 0
}

// Release frees the slots of an executor that has ended, or never began.
func (h *Holds) Release(app, executorID string) {
	h.update(func(e *ends) {
		name := HoldName(app, executorID)
		if x := h.byApp[name]; x != nil {
			x.release(e, sched.Done, "")
			delete(h.byApp, name)
		}
	})
}

// Knows reports whether tasks of the application hold slots here.
func (h *Holds) Knows(app string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byApp[app] != nil
}

// Serving returns, sorted, the applications whose executors wait for slots.
func (h *Holds) Serving() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unfilled()
}

// unfilled needs the lock.
func (h *Holds) unfilled() []string {
	var list []string
	for name, x := range h.byApp {
		if len(x.held) < x.slots {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Start adds an attempt to the hold that it names; one too many ends at once.
func (h *Holds) Start(task backend.Task, done func(backend.Result)) {
	h.update(func(e *ends) {
		end := func(o sched.Outcome, reason string) {
			e.add(func() { done(backend.Result{ID: task.ID, Outcome: o, Reason: reason}) })
		}
		switch x := h.byApp[task.App]; {
		case h.closed:
			end(sched.Killed, backend.Stopping)
		case x == nil:
			end(sched.Lost, reason(h.node, &task, noExecutor, elsewhere))
		case x.held[task.ID] != nil:
			end(sched.Failed, reason(h.node, &task, runsAlready, awaitEnd))
		case len(x.held) >= x.slots:
			now := time.Now()
			e.add(func() {
				done(backend.Result{ID: task.ID, Outcome: sched.Done, Reason: "the executor has its slots", Started: now, Finished: now})
			})
		default:
			x.held[task.ID] = &heldSlot{done: done, began: time.Now()}
			if len(x.held) == x.slots && !x.reached {
				x.reached = true
				e.add(x.full)
			}
		}
	})
}

// Kill ends an attempt that holds a slot, unless its executor may run: then the slot is
// free only when the executor has ended.
func (h *Holds) Kill(id sched.AttemptID) {
	h.update(func(e *ends) {
		for _, x := range h.byApp { // one of them at most
			s := x.held[id]
			switch {
			case s == nil:
				continue
			case x.reached:
				s.killed = true
			default:
				delete(x.held, id)
				e.add(func() { s.done(backend.Result{ID: id, Outcome: sched.Killed}) })
			}
			return
		}
	})
}

// Close ends every hold as Killed and returns when every done has been called.
func (h *Holds) Close() {
	h.update(func(e *ends) {
		h.closed = true
		for _, x := range h.byApp { // they do not depend on each other
			x.release(e, sched.Killed, backend.Stopping)
		}
		clear(h.byApp)
	})
	h.wait()
}

// release ends the attempts of a hold.
func (x *hold) release(e *ends, o sched.Outcome, reason string) {
	now := time.Now()
	for id, s := range x.held { // they do not depend on each other
		r := backend.Result{ID: id, Outcome: o, Reason: reason, Started: s.began, Finished: now}
		if s.killed {
			r.Outcome = sched.Killed
		}
		e.add(func() { s.done(r) })
	}
	clear(x.held)
}
