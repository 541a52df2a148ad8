package sleep

import (
	"math"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// Backend runs sleeps. Make one with [New].
type Backend struct {
	base  time.Time // of every due time
	alarm Alarm
	gone  chan struct{} // closed when the goroutine of run has ended

	mu      sync.Mutex
	queue   queue
	known   map[sched.AttemptID]*sleeper // in the queue or suspended
	seq     uint64
	wake    time.Duration // due time the alarm is set for; meaningless unless armed
	armed   bool
	stopped bool
}

var (
	_ backend.Backend   = (*Backend)(nil)
	_ backend.Suspender = (*Backend)(nil)
)

// Option changes how a Backend is made.
type Option func(*Backend)

// WithTimer makes the backend wait with a Go timer, as testing/synctest needs.
func WithTimer() Option {
	return func(b *Backend) {
		b.alarm.Stop()
		b.alarm = newTimerAlarm()
	}
}

// New starts the backend's one goroutine; Close ends it.
func New(options ...Option) *Backend {
	b := &Backend{
		base:  time.Now(),
		alarm: newAlarm(),
		gone:  make(chan struct{}),
		known: make(map[sched.AttemptID]*sleeper),
	}
	for _, o := range options {
		o(b)
	}
	go b.run()
	return b
}

// Start sleeps for t.Payload.Sleep.
func (b *Backend) Start(t backend.Task, done func(backend.Result)) {
	now := time.Now()
	if t.Payload.Sleep <= 0 && !b.closed() {
		done(backend.Result{ID: t.ID, Outcome: sched.Done, Started: now, Finished: now})
		return
	}
	s := &sleeper{id: t.ID, at: -1, started: now, done: done}
	outcome, reason := b.admit(s, now.Sub(b.base), t.Payload.Sleep)
	if outcome != sched.Unfinished {
		s.end(now, outcome, reason)
	}
}

// admit puts a new sleeper into the queue, or returns why it ends at once.
func (b *Backend) admit(s *sleeper, now, remains time.Duration) (sched.Outcome, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return sched.Killed, backend.Stopping
	}
	if b.known[s.id] != nil {
		return sched.Failed, "attempt " + s.id.String() + " runs in this backend already"
	}
	b.known[s.id] = s
	b.enqueue(s, now, remains)
	return sched.Unfinished, ""
}

// enqueue puts a sleeper into the queue: it is due after the rest of its sleep, or at the end of time
// where the sum would be beyond that. It needs the lock.
func (b *Backend) enqueue(s *sleeper, now, remains time.Duration) {
	b.seq++
	s.due, s.seq = now+min(remains, math.MaxInt64-now), b.seq
	b.queue.push(s)
	b.arm()
}

// arm sets the alarm when the first due time is before the one for which it is set.
// It needs the lock. A kill does not move the alarm back: one idle wake-up is
// cheaper.
func (b *Backend) arm() {
	if len(b.queue) == 0 || b.armed && b.wake <= b.queue[0].due {
		return
	}
	b.armed, b.wake = true, b.queue[0].due
	b.alarm.Set(b.wake - time.Since(b.base))
}

// run ends what is due, for as long as the alarm lives.
func (b *Backend) run() {
	defer close(b.gone)
	var due []*sleeper
	for b.alarm.Wait() {
		now := time.Now()
		due = b.takeDue(now.Sub(b.base), due[:0])
		for _, s := range due {
			s.end(now, sched.Done, "")
		}
		clear(due)
	}
}

// takeDue moves the sleepers due by now to the list, in order.
func (b *Backend) takeDue(now time.Duration, due []*sleeper) []*sleeper {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 && b.queue[0].due <= now {
		s := b.queue.remove(0)
		delete(b.known, s.id)
		due = append(due, s)
	}
	b.armed = false
	b.arm()
	return due
}

// Kill ends the sleep at once.
func (b *Backend) Kill(id sched.AttemptID) {
	b.mu.Lock()
	s := b.known[id]
	if s != nil {
		b.drop(s)
	}
	b.mu.Unlock()
	if s != nil {
		s.end(time.Now(), sched.Killed, "")
	}
}

// drop removes a sleeper. It needs the lock.
func (b *Backend) drop(s *sleeper) {
	delete(b.known, s.id)
	if s.at >= 0 {
		b.queue.remove(s.at)
	}
}

// Suspend stops the sleep: after Resume it lasts as long as was left of it.
func (b *Backend) Suspend(id sched.AttemptID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.known[id]
	if s == nil {
		return backend.NotRunning(id, "suspending it")
	}
	if s.at >= 0 {
		b.queue.remove(s.at)
		s.due = max(s.due-time.Since(b.base), 0)
	}
	return nil
}

// Resume continues the sleep.
func (b *Backend) Resume(id sched.AttemptID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.known[id]
	if s == nil {
		return backend.NotRunning(id, "resuming it")
	}
	if s.at < 0 {
		b.enqueue(s, time.Since(b.base), s.due)
	}
	return nil
}

// Handover is a sleep that continues in the next process.
type Handover struct {
	ID        sched.AttemptID
	Remains   time.Duration
	Suspended bool
	Started   time.Time
}

// Leave ends the backend without ending its sleeps, and returns them. When it returns,
// those that ended before have been reported.
func (b *Backend) Leave() (left []Handover) {
	b.mu.Lock()
	b.stopped = true
	now := time.Since(b.base)
	for _, s := range b.known {
		l := Handover{ID: s.id, Remains: s.due, Suspended: s.at < 0, Started: s.started}
		if !l.Suspended {
			l.Remains -= now
		}
		left = append(left, l)
	}
	clear(b.known)
	b.queue = nil
	b.mu.Unlock()
	b.alarm.Stop()
	<-b.gone
	return left
}

// TakeOver continues a sleep of an earlier process.
func (b *Backend) TakeOver(l *Handover, done func(backend.Result)) {
	s := &sleeper{id: l.ID, at: -1, started: l.Started, done: done}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[s.id] = s
	if l.Suspended {
		s.due = max(l.Remains, 0)
		return
	}
	b.enqueue(s, time.Since(b.base), l.Remains)
}

func (b *Backend) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stopped
}

// Close ends every sleep as Killed.
func (b *Backend) Close() {
	b.mu.Lock()
	b.stopped = true
	var left queue
	for _, s := range b.known {
		left = append(left, s)
	}
	clear(b.known)
	b.queue = nil
	b.mu.Unlock()

	now := time.Now()
	for _, s := range left {
		s.end(now, sched.Killed, backend.Stopping)
	}
	b.alarm.Stop()
	<-b.gone
}

// end calls done. It must be called without the lock.
func (s *sleeper) end(now time.Time, outcome sched.Outcome, reason string) {
	s.done(backend.Result{ID: s.id, Outcome: outcome, Reason: reason, Started: s.started, Finished: now})
}
