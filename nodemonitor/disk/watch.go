// Package disk watches whether the disk of a node's work folder takes what tasks write there.
//
//	good ──a probe fails, or has no answer──▶ faulty ──a probe succeeds──▶ good
//
// A probe runs every few seconds, and at once when an attempt could not begin: only the probe tells
// whether that was the attempt's own fault or the node's. Without that a full disk would fail each
// task that is sent to the node, within milliseconds, and so attract the next one.
package disk

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// DefaultEvery is the time between two probes.
const DefaultEvery = 5 * time.Second

// DefaultPatience is how long a probe may take: as long as a disk may stall under much writing.
const DefaultPatience = 3 * time.Second

// mostText bounds a fault in bytes: it is part of every heartbeat while it lasts.
const mostText = 400

// Config is what a Watch needs.
type Config struct {
	// Probe returns why tasks could not write now, nil when they can.
	Probe func() error
	// Changed is called with each new fault, and with "" when it is over. Calls are in order, and
	// come before the Look that found the change returns. It may not call the Watch.
	Changed func(fault string)
	// Unanswered is called by Run after each probe for which it has waited in vain, when Changed has
	// been; nil for nothing.
	Unanswered func()
	Every      time.Duration // between two probes; 0 for DefaultEvery
	Patience   time.Duration // with one probe; 0 for DefaultPatience
	Log        *slog.Logger
}

// Watch knows whether the disk takes what tasks write. All methods may be called from any
// goroutine. A nil Watch knows of no fault.
type Watch struct {
	cfg  Config
	soon chan struct{} // holds one

	mu      sync.Mutex
	running chan struct{} // closed when the probe that runs has ended; nil while none runs
	looked  time.Time     // when the last one ended
	fault   string
}

// New returns a Watch that has not probed yet.
func New(cfg Config) *Watch {
	if cfg.Every == 0 {
		cfg.Every = DefaultEvery
	}
	if cfg.Patience == 0 {
		cfg.Patience = DefaultPatience
	}
	return &Watch{cfg: cfg, soon: make(chan struct{}, 1)}
}

// Look probes and returns the fault that it finds, "" for none. A probe that is not answered in time
// is a fault; it goes on, and no other one begins before it has ended.
func (w *Watch) Look() (fault string) {
	if w == nil {
		return ""
	}
	w.look(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fault
}

// look probes, and reports whether the disk has answered, or the wait for that has ended before.
func (w *Watch) look(ended <-chan struct{}) bool {
	timeout := time.NewTimer(w.cfg.Patience)
	defer timeout.Stop()
	for own := false; !own; {
		var probed chan struct{}
		probed, own = w.begin()
		select {
		case <-probed:
		case <-timeout.C:
			return w.endedAfterAll(probed)
		case <-ended:
			return true
		}
	}
	return true
}

// begin begins a probe, unless one runs, and returns when that has ended, and whether it is a new one.
func (w *Watch) begin() (ended chan struct{}, own bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil {
		return w.running, false
	}
	ended = make(chan struct{})
	w.running = ended
	go func() {
		defer close(ended)
		fault := ""
		if err := w.cfg.Probe(); err != nil {
			fault = api.Clip(err.Error(), mostText)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running, w.looked = nil, time.Now()
		w.found(fault)
	}()
	return ended, true
}

// endedAfterAll reports whether a probe has ended that took too long. One that has not is a fault.
func (w *Watch) endedAfterAll(probe chan struct{}) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != probe {
		return true
	}
	w.found(fmt.Sprintf("it has not answered for %v", w.cfg.Patience))
	return false
}

// found takes over what a probe has found. The lock is held.
func (w *Watch) found(fault string) {
	if before := w.fault; fault != before {
		w.fault = fault
		w.report(before)
		w.cfg.Changed(fault)
	}
}

func (w *Watch) report(before string) {
	switch {
	case w.fault == "":
		w.cfg.Log.Info("the disk of the work folder takes what tasks write again")
	case before == "":
		w.cfg.Log.Warn("the disk of the work folder does not take what tasks write; the node takes nothing new until it does", "error", w.fault)
	}
}

// LookSoon makes Run probe. It never waits.
func (w *Watch) LookSoon() {
	if w == nil {
		return
	}
	select {
	case w.soon <- struct{}{}:
	default: // it is about to
	}
}

// rest is the least time from a probe to one that LookSoon has asked for.
const rest = 100 * time.Millisecond

// Run probes from time to time until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-w.soon:
			if !delay.For(ctx, w.restLeft()) {
				return
			}
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !w.look(ctx.Done()) && w.cfg.Unanswered != nil {
			w.cfg.Unanswered()
		}
	}
}

// restLeft returns how long a probe that LookSoon has asked for has to wait.
func (w *Watch) restLeft() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return rest - time.Since(w.looked)
}
