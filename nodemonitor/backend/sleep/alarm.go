package sleep

import (
	"sync"
	"time"
)

// Alarm wakes the one goroutine that waits on it.
type Alarm interface {
	// Set requests one wake-up after d, in place of any requested before. It may
	// be called from any goroutine.
	Set(d time.Duration)
	// Wait returns true at or after the instant requested, false once stopped. A
	// wake-up too many is allowed.
	Wait() bool
	// Stop ends the waiting for good.
	Stop()
}

// timerAlarm is an Alarm on a Go timer.
type timerAlarm struct {
	timer *time.Timer
	stop  chan struct{}
	once  sync.Once
}

func newTimerAlarm() *timerAlarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &timerAlarm{timer: t, stop: make(chan struct{})}
}

func (a *timerAlarm) Set(d time.Duration) { a.timer.Reset(d) }

func (a *timerAlarm) Wait() bool {
	select {
	case <-a.timer.C:
		return true
	case <-a.stop:
		return false
	}
}

func (a *timerAlarm) Stop() {
	a.once.Do(func() {
		a.timer.Stop()
		close(a.stop)
	})
}
