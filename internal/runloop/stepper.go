package runloop

import (
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Stepper steps inputs into cores and passes their actions to the daemon. It belongs
// to the owner goroutine, except Messages.
type Stepper struct {
	act      func(self sched.Addr, a *sched.Action)
	record   *Recorder // nil when nothing is recorded
	out      sched.Actions
	now      sched.Time
	messages atomic.Uint64
}

// NewStepper returns a stepper that calls act for every action, in order.
func NewStepper(act func(self sched.Addr, a *sched.Action), record *Recorder) *Stepper {
	return &Stepper{act: act, record: record}
}

// Step steps one message into the core. Time does not go back: if now is before that of
// the last step, that one is used.
func (s *Stepper) Step(core sched.Core, self sched.Addr, now sched.Time, from sched.Addr, m *sched.Message) {
	s.now = max(s.now, now)
	s.out.Reset()
	core.Step(s.now, from, m, &s.out)
	list := s.out.List()
	if s.record != nil {
		s.record.step(self, s.now, from, m, list)
	}
	for i := range list {
		if a := &list[i]; a.Kind == sched.Send && a.To.ID != sched.Everyone {
			s.messages.Add(uint64(a.Msg.Tasks())) //nolint:gosec // never negative
		}
		s.act(self, &list[i])
	}
}

// Spread counts the copies of a message to Everyone. Their number depends on the daemon's
// links, so Step does not count them.
func (s *Stepper) Spread(m *sched.Message, copies int) {
	s.messages.Add(uint64(copies * m.Tasks())) //nolint:gosec // never negative
}

// Messages returns how many messages the cores have sent to others, counted as in the
// papers and the simulator: a batch of k tasks counts k. It may be called from anywhere.
func (s *Stepper) Messages() uint64 { return s.messages.Load() }

// Clock counts nanoseconds since 1970. It is set by the machine's clock when it is made and
// ignores later jumps of that clock. Multiples of an interval fall on about the same
// instant in all daemons.
type Clock struct {
	start  time.Time
	before sched.Time
}

// NewClock returns a clock.
func NewClock() Clock {
	start := time.Now()
	return Clock{start: start, before: sched.Time(start.UnixNano())}
}

// Now returns the instant.
func (c Clock) Now() sched.Time { return c.before + sched.Time(time.Since(c.start)) }

// Ahead returns the clock set ahead, for tests of events after a long time.
func (c Clock) Ahead(by sched.Time) Clock {
	c.before += by
	return c
}

// Timers turn Timer actions into Timeouts that are posted when they are due.
type Timers struct {
	clock Clock
	fire  func(self sched.Addr, token uint64)
}

// NewTimers returns timers that call fire, on their own goroutine, when they are due.
func NewTimers(clock Clock, fire func(self sched.Addr, token uint64)) *Timers {
	return &Timers{clock: clock, fire: fire}
}

// Set arms a timer of a core. A timer that fires after the loop has ended posts to a
// closed inbox, which is harmless.
func (t *Timers) Set(self sched.Addr, at sched.Time, token uint64) {
	time.AfterFunc(time.Duration(max(0, at-t.clock.Now())), func() { t.fire(self, token) })
}
