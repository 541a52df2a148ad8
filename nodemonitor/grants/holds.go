package grants

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// hold is the slots that an executor without grants waits for, and then has.
type hold struct {
	slots   int
	full    func()
	held    map[sched.AttemptID]*grant
	reached bool // full was called
}

// HoldName returns the application that attempts name which hold slots for an
// executor: only its node serves it.
func HoldName(app, executorID string) string { return app + "/" + executorID }

// Hold waits for slots for an executor. full is called once, without a lock, when all
// are held.
func (t *Table) Hold(app, executorID string, slots int, full func()) {
	t.update(func(e *ends) {
		name := HoldName(app, executorID)
		if t.closed || t.holds[name] != nil {
			return
		}
		t.holds[name] = &hold{slots: slots, full: full, held: map[sched.AttemptID]*grant{}}
		if slots == 0 {
			t.holds[name].reached = true
			e.add(full)
		}
	})
}

// Holding returns how many slots are held for the executor.
func (t *Table) Holding(app, executorID string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.holds[HoldName(app, executorID)]; h != nil {
		return len(h.held)
	}
	return 0
}

// Release frees the slots of an executor that has ended, or never began.
func (t *Table) Release(app, executorID string) {
	t.update(func(e *ends) {
		name := HoldName(app, executorID)
		if h := t.holds[name]; h != nil {
			t.release(e, h, sched.Done, "")
			delete(t.holds, name)
		}
	})
}

// hold adds an attempt to a hold; one too many ends at once. It needs the lock.
func (t *Table) hold(e *ends, h *hold, g *grant) {
	if h.held[g.task.ID] != nil {
		e.add(func() {
			g.done(backend.Result{ID: g.task.ID, Outcome: sched.Failed, Reason: t.reason(&g.task, "this attempt runs here already", "wait for its end")})
		})
		return
	}
	g.began = time.Now()
	if len(h.held) >= h.slots {
		e.add(func() {
			g.done(backend.Result{ID: g.task.ID, Outcome: sched.Done, Reason: "the executor has its slots", Started: g.began, Finished: g.began})
		})
		return
	}
	h.held[g.task.ID] = g
	if len(h.held) == h.slots && !h.reached {
		h.reached = true
		e.add(h.full)
	}
}

// killHold ends an attempt that holds a slot, unless its executor may run: then
// the slot is not free before that has ended. It needs the lock.
func (t *Table) killHold(e *ends, id sched.AttemptID) {
	for _, h := range t.holds { // one of them at most
		g := h.held[id]
		switch {
		case g == nil:
			continue
		case h.reached:
			g.killed = true
		default:
			delete(h.held, id)
			e.add(func() { g.done(backend.Result{ID: id, Outcome: sched.Killed}) })
		}
		return
	}
}

// release ends the attempts of a hold. It needs the lock.
func (t *Table) release(e *ends, h *hold, o sched.Outcome, reason string) {
	now := time.Now()
	for id, g := range h.held { // they do not depend on each other
		r := backend.Result{ID: id, Outcome: o, Reason: reason, Started: g.began, Finished: now}
		if g.killed {
			r.Outcome = sched.Killed
		}
		e.add(func() { g.done(r) })
	}
	clear(h.held)
}
