package application

import "time"

// An executor that ends by itself is replaced, the first time after firstPause, then
// each time after twice the previous pause, up to lastPause. One that ran for wellAfter
// resets the count. After maxFailures in a row with no other executor running, no other
// one is started.
const (
	firstPause  = 100 * time.Millisecond
	lastPause   = 10 * time.Second
	wellAfter   = 30 * time.Second
	maxFailures = 10
)

// restarts counts the consecutive ends of executors.
type restarts struct {
	failures  int
	notBefore time.Time
}

// executorStopped resets the count when an executor that did not end by itself had run well.
func (r *restarts) executorStopped(ran time.Duration) {
	if ran >= wellAfter {
		r.failures = 0
	}
}

// executorFailed counts an executor that ended by itself, and reports whether no
// other one is to be started; running is how many others run.
func (r *restarts) executorFailed(now time.Time, ran time.Duration, running int) (final bool) {
	if ran >= wellAfter {
		r.failures = 0
	}
	r.failures++
	pause := lastPause
	if shift := r.failures - 1; shift < 7 { // beyond it the pause would exceed lastPause
		pause = firstPause << shift
	}
	r.notBefore = now.Add(pause)
	return r.failures >= maxFailures && running == 0
}
