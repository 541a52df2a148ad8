package guard

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// TestPace: whatever arrives, ends or is killed, a long process never waits, and a short one only while
// enough processes run, and at least four short ones for each that waits. So the end of a short one
// always starts the next.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pace{below: rapid.IntRange(0, 8).Draw(t, "below")}
		var waiting, running []*child
		startSome := func() {
			rest := waiting[:0]
			for _, c := range waiting {
				if p.holds(c) {
					rest = append(rest, c)
					continue
				}
				p.start(c)
				running = append(running, c)
			}
			waiting = rest
		}
		remove := func(list []*child, what string) (*child, []*child) {
			i := rapid.IntRange(0, len(list)-1).Draw(t, what)
			c := list[i]
			return c, slices.Delete(list, i, i+1)
		}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				c := &child{paced: rapid.Bool().Draw(t, "short")}
				p.arrive(c)
				waiting = append(waiting, c)
			case 2, 3:
				if len(running) > 0 {
					var c *child
					c, running = remove(running, "ended")
					p.end(c)
				}
			case 4:
				if len(waiting) > 0 {
					waiting[rapid.IntRange(0, len(waiting)-1).Draw(t, "killed")].killed = true
				}
			}
			startSome()
			short := 0
			for _, c := range running {
				if c.paced {
					short++
				}
			}
			for _, c := range waiting {
				if !c.paced || c.killed {
					t.Fatalf("%+v waits", c)
				}
			}
			if len(waiting) > 0 && (p.below == 0 || len(running) < p.below || len(waiting)*aheadShare > short) {
				t.Fatalf("%d wait while %d run, %d of them short, with a bound of %d", len(waiting), len(running), short, p.below)
			}
			if p.running != len(running) || p.short != short || p.waiting != len(waiting) {
				t.Fatalf("%+v with %d running, %d short and %d waiting", p, len(running), short, len(waiting))
			}
		}
	})
}

// TestStocked: events wait only while the tasks that could come in place of those that have ended would
// have to wait, too.
func TestStocked(t *testing.T) {
	for _, tc := range []struct {
		p    pace
		want bool
	}{
		{pace{}, false},
		{pace{running: 100, short: 100, waiting: 20}, false},           // nobody waits for an end
		{pace{below: 64, running: 64, short: 64, waiting: 16}, true},   // all that may
		{pace{below: 64, running: 64, short: 64, waiting: 8}, true},    // half of them
		{pace{below: 64, running: 64, short: 64, waiting: 7}, false},   // the slots of others would be free soon
		{pace{below: 64, running: 63, short: 63, waiting: 16}, false},  // they are about to start
		{pace{below: 64, running: 64, short: 0, waiting: 0}, false},    // long ones only
		{pace{below: 64, running: 80, short: 16, waiting: 2}, true},    // among long ones
		{pace{below: 64, running: 80, short: 16, waiting: 1}, false},   //
		{pace{below: 4, running: 4, short: 4, waiting: 1}, true},       // the smallest
		{pace{below: 64, running: 64, short: 64, waiting: 160}, true},  // being started
		{pace{below: 64, running: 10, short: 10, waiting: 150}, false}, // a backlog, as without a pace
	} {
		if got := tc.p.stocked(); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc.p, got, tc.want)
		}
	}
}

// short is a short process that runs until it is killed.
func short() Spec {
	s := shell("exec sleep 1000")
	s.Short, s.Note = true, []byte("a note")
	return s
}

// fill starts four short processes under a client that paces a fifth, and returns them and that one.
func fill(t *testing.T, c *Client) (running []*run, ahead *run) {
	t.Helper()
	for range 4 {
		r := start(t, c, short())
		r.pid()
		running = append(running, r)
	}
	ahead = start(t, c, short())
	settled(t, c)
	if len(ahead.events) > 0 {
		t.Fatalf("the fifth had an event: %+v", <-ahead.events)
	}
	return running, ahead
}

// settled waits until the guard has handled all that was requested before: a long process starts at once.
func settled(t *testing.T, c *Client) {
	t.Helper()
	if e := start(t, c, shell("exit 0")).end(); e.Kind != Ended {
		t.Fatalf("a long process ended as %+v (%+v)", e, e.Fault)
	}
}

// TestStartsAtAnEnd: a short process that has to wait starts at the end of another one. Long processes do not
// wait, and their ends do not let it start as long as enough others run.
func TestStartsAtAnEnd(t *testing.T) {
	c := New(Options{ShortStartsBelow: 4})
	t.Cleanup(func() { c.Close(0) })
	running, ahead := fill(t, c)
	c.Kill(running[2].handle, 0)
	running[2].end()
	ahead.pid()
}

// TestTooManyWait: beyond one for each four short ones that run the oldest starts at once.
func TestTooManyWait(t *testing.T) {
	c := New(Options{ShortStartsBelow: 4})
	t.Cleanup(func() { c.Close(0) })
	_, ahead := fill(t, c)
	next := start(t, c, short())
	ahead.pid()
	settled(t, c)
	if len(next.events) > 0 {
		t.Errorf("the sixth had an event: %+v", <-next.events)
	}
}

// TestLongOnesAlone: no short process waits for long ones, however many run.
func TestLongOnesAlone(t *testing.T) {
	c := New(Options{ShortStartsBelow: 1})
	t.Cleanup(func() { c.Close(0) })
	for range 3 {
		start(t, c, shell("exec sleep 1000")).pid()
	}
	start(t, c, short()).pid()
}

// TestKilledWhileItWaits: a kill ends a process that waits at once, as one that never began.
func TestKilledWhileItWaits(t *testing.T) {
	c := New(Options{ShortStartsBelow: 4})
	t.Cleanup(func() { c.Close(0) })
	_, ahead := fill(t, c)
	c.Kill(ahead.handle, time.Hour)
	if e := ahead.end(); e.Kind != Ended || !e.Killed || !e.Never {
		t.Errorf("it ended as %+v", e)
	}
}

// TestFailedStartMakesRoom: a process that could not be started lets the next one start.
func TestFailedStartMakesRoom(t *testing.T) {
	c := New(Options{ShortStartsBelow: 4})
	t.Cleanup(func() { c.Close(0) })
	running, ahead := fill(t, c)
	missing := short()
	missing.Argv = []string{filepath.Join(t.TempDir(), "missing")}
	refused := start(t, c, missing) // lets the one before it start, and waits itself
	ahead.pid()
	next := start(t, c, short()) // and so on
	if e := refused.end(); e.Kind != Refused {
		t.Fatalf("the missing program ended as %+v", e)
	}
	settled(t, c)
	if len(next.events) > 0 {
		t.Fatalf("the last had an event: %+v", <-next.events)
	}
	for _, r := range running[:2] { // five run, and one may wait
		c.Kill(r.handle, 0)
		r.end()
	}
	next.pid()
}

// TestWaitsForTheNextClient: what waits in a guard when its client leaves starts under the next one, which
// may have another bound, and nothing is started twice.
func TestWaitsForTheNextClient(t *testing.T) {
	folder := t.TempDir()
	o := options(folder, time.Minute)
	o.ShortStartsBelow = 4
	c := New(o)
	running, ahead := fill(t, c)
	c.Leave()
	next, a := adopt(t, folder)
	var unbegun []Held
	for _, h := range a.Held {
		if !h.Began {
			unbegun = append(unbegun, h)
		}
	}
	if len(unbegun) != 1 || unbegun[0].Handle != ahead.handle {
		t.Fatalf("the guard has kept %+v", a.Held)
	}
	r := claim(t, next, unbegun[0])
	next.Follow(a)
	pid := r.pid()
	if next.Kill(r.handle, 0); r.end().Status.ExitStatus() == 0 {
		t.Error("it was not killed")
	}
	await.Until(t, "it is gone", func() bool { return state(pid) == "" })
	for _, r := range running {
		next.Kill(r.handle, 0)
	}
}

// TestGuardOfAnEarlierBuild: a guard that does not say that it knows paced starts gets none.
func TestGuardOfAnEarlierBuild(t *testing.T) {
	c := &Client{opts: Options{ShortStartsBelow: 4}}
	start := func(short bool) *request { return &request{Op: opStart, Spec: &Spec{Short: short}} }
	for _, tc := range []struct {
		below int
		paces bool
		r     *request
		want  op
	}{
		{4, true, start(true), opStartPaced},
		{4, true, start(false), opStart},
		{4, false, start(true), opStart},
		{0, true, start(true), opStart},
		{4, true, &request{Op: opKill}, opKill},
	} {
		c.opts.ShortStartsBelow = tc.below
		if got := c.opFor(&instance{paces: tc.paces}, tc.r); got != tc.want {
			t.Errorf("%d, %v, %+v: %d, want %d", tc.below, tc.paces, tc.r, got, tc.want)
		}
	}
}
