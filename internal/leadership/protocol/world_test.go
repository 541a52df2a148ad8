package protocol_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/leadership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	ttl     = 1500 * sched.Millisecond
	ms      = sched.Millisecond
	minutes = 60 * sched.Second
)

// world is a store and the candidates at it. Requests and answers take drawn times, are lost
// or repeated; clocks are wrong by up to 1 part in 100; processes pause and restart.
type world struct {
	*rapid.T
	now        sched.Time // the true time
	revision   uint64
	entry      protocol.Seen
	candidates []*candidate
	travelling []event
	faulty     bool
	highest    uint64 // token
}

// event is a request in transit to the store, or an answer in transit from it.
type event struct {
	at  sched.Time
	act func()
}

type candidate struct {
	protocol.Candidate
	name        string
	incarnation int64
	offset      sched.Time
	perMille    sched.Time // by how much its clock is wrong
	paused      sched.Time // until then it does nothing
	wake        sched.Time // true time of its next look
	asked       int        // operations, to distinguish late answers from the current one
	shown       bool       // that it leads, until shownUntil by its own clock
	shownUntil  sched.Time
	token       uint64
}

func (c *candidate) clock(now sched.Time) sched.Time { return c.offset + now + now*c.perMille/1000 }

// leads is what Leads answers: the flag, and the clock at this moment, whatever the process
// has not done yet.
func (c *candidate) leads(now sched.Time) bool { return c.shown && c.clock(now) < c.shownUntil }

func newWorld(t *rapid.T) *world {
	w := &world{T: t, faulty: true}
	for i := range rapid.IntRange(2, 4).Draw(t, "candidates") {
		c := &candidate{
			name:     fmt.Sprint("c", i),
			offset:   sched.Time(rapid.Int64Range(0, 1e12).Draw(t, "offset")),
			perMille: sched.Time(rapid.Int64Range(-10, 10).Draw(t, "per mille")),
		}
		w.restart(c)
		w.candidates = append(w.candidates, c)
	}
	return w
}

func (w *world) restart(c *candidate) {
	c.incarnation++
	c.asked++
	c.shown, c.wake, c.paused = false, w.now, 0
	c.Candidate = protocol.NewCandidate(c.name, c.incarnation, ttl, c.clock(w.now))
}

// after schedules what happens when a message has arrived, if it does.
func (w *world) after(what string, act func()) {
	delay := sched.Time(1)
	if w.faulty {
		switch rapid.IntRange(0, 9).Draw(w.T, what) {
		case 0:
			return // lost
		case 1:
			delay = sched.Time(rapid.Int64Range(0, 4000).Draw(w.T, "long delay")) * ms
		default:
			delay = sched.Time(rapid.Int64Range(0, 400).Draw(w.T, "delay")) * ms
		}
	}
	w.travelling = append(w.travelling, event{w.now + delay, act})
}

// look is one round of a candidate's goroutine.
func (w *world) look(c *candidate) {
	if w.now < c.paused {
		c.wake = c.paused
		return
	}
	a, wake := c.Due(c.clock(w.now))
	w.show(c)
	c.wake = w.now + minutes
	if wake > 0 {
		c.wake = w.now + max(0, wake-c.clock(w.now)) + 1
	}
	if a.Operation == protocol.Wait {
		return
	}
	c.asked++
	id := c.asked
	w.after("request", func() { w.carryOut(c, id, a) })
	w.travelling = append(w.travelling, event{w.now + protocol.Patience(ttl), func() {
		w.answer(c, id, func(now sched.Time) { c.Failed(now) })
	}})
}

// answer applies an answer unless the operation has ended already; a paused process gets it
// when it continues.
func (w *world) answer(c *candidate, id int, apply func(now sched.Time)) {
	switch {
	case id != c.asked:
	case w.now < c.paused:
		w.travelling = append(w.travelling, event{c.paused, func() { w.answer(c, id, apply) }})
	default:
		c.asked++
		apply(c.clock(w.now))
		w.show(c)
		c.wake = w.now
	}
}

func (w *world) carryOut(c *candidate, id int, a protocol.Action) {
	reply := func(apply func(now sched.Time)) { w.after("answer", func() { w.answer(c, id, apply) }) }
	switch a.Operation {
	case protocol.Read:
		seen := w.entry
		reply(func(now sched.Time) { c.Found(now, seen) })
		return
	case protocol.Write:
		if a.After != w.entry.Revision {
			reply(func(now sched.Time) { c.Refused(now) })
			return
		}
		w.revision++
		w.entry = protocol.Seen{Exists: true, Revision: w.revision, Claim: a.Claim}
	case protocol.Remove:
		if a.After != w.entry.Revision {
			reply(func(now sched.Time) { c.Refused(now) })
			return
		}
		w.revision++
		w.entry = protocol.Seen{Revision: w.revision}
	}
	revision, seen := w.revision, w.entry
	reply(func(now sched.Time) { c.Answered(now, revision) })
	for _, other := range w.candidates {
		incarnation := other.incarnation
		w.after("word", func() {
			if other.incarnation == incarnation && w.now >= other.paused {
				other.Heard(other.clock(w.now), seen)
				w.show(other)
				other.wake = w.now
			}
		})
	}
}

// show is what the goroutine publishes after each step, and the checks.
func (w *world) show(c *candidate) {
	token, deadline, leads := c.Leading()
	if leads && (!c.shown || c.token != token) {
		if token <= w.highest {
			w.Fatalf("%s leads by token %d after %d", c.name, token, w.highest)
		}
		w.highest = token
	}
	if c.shown && leads && c.token == token && !c.leads(w.now) && deadline > c.shownUntil {
		w.Fatalf("%s leads again by the same token %d after its deadline", c.name, token)
	}
	c.shown, c.token, c.shownUntil = leads, token, deadline
	w.check()
}

func (w *world) check() {
	leader := ""
	for _, c := range w.candidates {
		if !c.leads(w.now) {
			continue
		}
		if leader != "" {
			w.Fatalf("at %d ms both %s and %s lead", w.now/ms, leader, c.name)
		}
		leader = c.name
	}
}

// advance lets time pass up to the next event, and handles it.
func (w *world) advance() {
	next := w.now + minutes
	for _, e := range w.travelling {
		next = min(next, e.at)
	}
	for _, c := range w.candidates {
		next = min(next, c.wake)
	}
	w.now = max(w.now, next)
	w.check()
	for i, e := range w.travelling {
		if e.at <= w.now {
			w.travelling = append(w.travelling[:i], w.travelling[i+1:]...)
			e.act()
			w.check()
			return
		}
	}
	for _, c := range w.candidates {
		if c.wake <= w.now {
			w.look(c)
			w.check()
			return
		}
	}
}

func (w *world) run(d sched.Time) {
	for end := w.now + d; w.now < end; {
		w.advance()
	}
}

func (w *world) leading() *candidate {
	for _, c := range w.candidates {
		if c.leads(w.now) {
			return c
		}
	}
	return nil
}

// TestNeverTwo: whatever requests, answers and notices of the store are late or lost,
// and whichever processes pause, restart and resign, no two lead at once, tokens rise,
// and when the faults end some candidate leads.
func TestNeverTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(5, 60).Draw(t, "faults") {
			w.run(sched.Time(rapid.Int64Range(0, 3000).Draw(t, "time between faults")) * ms)
			c := w.candidates[rapid.IntRange(0, len(w.candidates)-1).Draw(t, "candidate")]
			switch rapid.IntRange(0, 2).Draw(t, "fault") {
			case 0:
				c.paused = w.now + sched.Time(rapid.Int64Range(0, 5000).Draw(t, "pause"))*ms
			case 1:
				w.restart(c)
			case 2:
				c.Resign()
				w.show(c)
				c.wake = w.now
			}
		}
		w.faulty = false
		for _, c := range w.candidates {
			c.paused = 0
			w.restart(c) // those that resigned, too
		}
		w.run(20 * ttl)
		leader := w.leading()
		if leader == nil {
			t.Fatal("no candidate leads although the faults have ended")
		}
		token := leader.token
		w.run(20 * ttl)
		if w.leading() != leader || leader.token != token {
			t.Fatalf("%s does not lead any more by token %d although nothing has failed", leader.name, token)
		}
	})
}
