package disk

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// disk is a disk as the tests set it.
type disk struct {
	mu      sync.Mutex
	err     error
	probes  int
	changes []string
}

func (d *disk) watch(every time.Duration) *Watch {
	return New(Config{
		Every: every, Log: slog.New(slog.DiscardHandler),
		Probe: func() error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.probes++
			return d.err
		},
		Changed: func(fault string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.changes = append(d.changes, fault)
		},
	})
}

func (d *disk) set(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *disk) seen() (probes int, changes []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.probes, slices.Clone(d.changes)
}

// Each change is reported once, before the Look that found it returns.
func TestChanges(t *testing.T) {
	t.Parallel()
	d := &disk{}
	w := d.watch(0)
	full, gone := errors.New("no space left on device"), errors.New("input/output error")
	var want []string
	for _, step := range []struct {
		err    error
		change string // "-" for none
	}{{nil, "-"}, {full, full.Error()}, {full, "-"}, {gone, gone.Error()}, {nil, ""}, {nil, "-"}, {full, full.Error()}} {
		d.set(step.err)
		if step.change != "-" {
			want = append(want, step.change)
		}
		fault := w.Look()
		if _, got := d.seen(); !slices.Equal(got, want) {
			t.Errorf("after %v: reported %q, want %q", step.err, got, want)
		}
		if step.err == nil && fault != "" || step.err != nil && fault != step.err.Error() {
			t.Errorf("found %q, want %v", fault, step.err)
		}
	}
}

// A fault of any length stays short enough for each heartbeat.
func TestLongFault(t *testing.T) {
	t.Parallel()
	d := &disk{err: errors.New(strings.Repeat("x", 10_000))}
	if fault := d.watch(0).Look(); len(fault) > mostText+10 || len(fault) < mostText/2 {
		t.Errorf("a fault of %d bytes", len(fault))
	}
}

// Run probes when it is due, and when it is asked to.
func TestRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		every time.Duration
		ask   bool
	}{"due": {time.Millisecond, false}, "asked": {time.Hour, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &disk{err: errors.New("full")}
			w := d.watch(c.every)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); w.Run(ctx) }()
			if c.ask {
				w.LookSoon()
				w.LookSoon() // does not wait
			}
			await.Until(t, "the fault is reported", func() bool { _, changes := d.seen(); return len(changes) == 1 }, func() string { return "" })
			cancel()
			<-ended
		})
	}
}

// A probe that is asked for just after another one is made all the same.
func TestLookSoonAfterALook(t *testing.T) {
	t.Parallel()
	d := &disk{err: errors.New("full")}
	w := d.watch(time.Hour)
	w.Look()
	d.set(nil)
	w.LookSoon()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	await.Until(t, "the fault is over", func() bool { _, changes := d.seen(); return len(changes) == 2 }, func() string { return "" })
	cancel()
	<-ended
}

// A disk that does not answer is a fault within the patience, and none when it has answered. Meanwhile
// no other probe begins, and Run ends when it is told to.
func TestDiskThatHangs(t *testing.T) {
	t.Parallel()
	var d disk
	hangs, unanswered := make(chan struct{}), make(chan []string)
	w := d.watch(time.Hour)
	w.cfg.Patience = 20 * time.Millisecond
	probe := w.cfg.Probe
	w.cfg.Probe = func() error {
		err := probe()
		<-hangs
		return err
	}
	w.cfg.Unanswered = func() {
		_, changes := d.seen()
		unanswered <- changes
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	w.LookSoon()
	if changes := <-unanswered; len(changes) != 1 || !strings.Contains(changes[0], "not answered for 20ms") {
		t.Errorf("unanswered with the changes %q", changes)
	}
	cancel()
	<-ended
	if fault := w.Look(); fault == "" {
		t.Error("no fault is found while it hangs")
	}
	if probes, _ := d.seen(); probes != 1 {
		t.Errorf("%d probes began", probes)
	}
	close(hangs)
	w.cfg.Patience = time.Minute
	if fault := w.Look(); fault != "" {
		t.Errorf("found %q after it has answered", fault)
	}
	if _, changes := d.seen(); len(changes) != 2 || changes[1] != "" {
		t.Errorf("reported %q", changes)
	}
}

func TestNoWatch(t *testing.T) {
	t.Parallel()
	var w *Watch
	w.LookSoon()
	if fault := w.Look(); fault != "" {
		t.Errorf("found %q", fault)
	}
}
