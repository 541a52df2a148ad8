// Package disk watches whether the disk of a node's work folder takes what tasks write there.
//
//	good ──a probe fails──▶ faulty ──a probe succeeds──▶ good
//
// A probe runs every few seconds, and at once when an attempt could not begin: only the probe tells
// whether that was the attempt's own fault or the node's. Without that a full disk would fail each
// task that is sent to the node, within milliseconds, and so attract the next one.
package disk

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// DefaultEvery is the time between two probes.
const DefaultEvery = 5 * time.Second

// mostText bounds a fault in bytes: it is part of every heartbeat while it lasts.
const mostText = 400

// Config is what a Watch needs.
type Config struct {
	// Probe returns why tasks could not write now, nil when they can.
	Probe func() error
	// Changed is called with each new fault, and with "" when it is over. Calls are in order, and
	// come before the Look that found the change returns. It may not call the Watch.
	Changed func(fault string)
	Every   time.Duration // between two probes; 0 for DefaultEvery
	Log     *slog.Logger
}

// Watch knows whether the disk takes what tasks write. All methods may be called from any
// goroutine. A nil Watch knows of no fault.
type Watch struct {
	cfg  Config
	soon chan struct{} // holds one

	mu     sync.Mutex // held by the one probe at a time
	looked time.Time  // when the last one ended
	fault  string
}

// New returns a Watch that has not probed yet.
func New(cfg Config) *Watch {
	if cfg.Every == 0 {
		cfg.Every = DefaultEvery
	}
	return &Watch{cfg: cfg, soon: make(chan struct{}, 1)}
}

// Look probes and returns the fault that it finds, "" for none.
func (w *Watch) Look() (fault string) {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.cfg.Probe(); err != nil {
		fault = api.Clip(err.Error(), mostText)
	}
	w.looked = time.Now()
	if before := w.fault; fault != before {
		w.fault = fault
		w.report(before)
		w.cfg.Changed(fault)
	}
	return fault
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
		w.Look()
	}
}

// restLeft returns for how long a probe that LookSoon has asked for has to wait.
func (w *Watch) restLeft() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return rest - time.Since(w.looked)
}
