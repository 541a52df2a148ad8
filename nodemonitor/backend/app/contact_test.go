package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// A backend that answers no launch rests, for longer each time, and comes back by itself
// with a slot under a new number; an answered launch ends that.
func TestBackendRestsAndComesBack(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		w.launch["h:1"] = func(context.Context) error { return errors.New("no answer") }
		w.expect(t, "+slot 4 spark reserved=false")
		n, slot := 0, int32(4)
		fail := func() {
			t.Helper()
			for range maxFailures {
				n++
				r.Start(task(n, "spark", slot), w.done)
				synctest.Wait()
			}
			w.expect(t, fmt.Sprintf("%d lost reason=true", n-2), fmt.Sprintf("%d lost reason=true", n-1), fmt.Sprintf("%d lost reason=true", n),
				fmt.Sprintf("-slot %d reason=true", slot))
			slot++
		}
		back := func(after time.Duration) {
			t.Helper()
			time.Sleep(after - 100*time.Millisecond)
			synctest.Wait()
			w.expect(t)
			time.Sleep(r.cfg.ProbeEvery + 100*time.Millisecond)
			synctest.Wait()
			w.expect(t, fmt.Sprintf("+slot %d spark reserved=false", slot))
		}
		fail()
		back(time.Second)
		fail()
		back(2 * time.Second)
		for range 8 {
			fail()
			time.Sleep(restMost + r.cfg.ProbeEvery)
			synctest.Wait()
			w.expect(t, fmt.Sprintf("+slot %d spark reserved=false", slot))
		}
		w.launch["h:1"] = nil
		r.Start(task(100, "spark", slot), w.done)
		synctest.Wait()
		w.expect(t, "launch 100 at h:1")
		w.launch["h:1"] = func(context.Context) error { return errors.New("no answer") }
		fail()
		back(time.Second)
	})(t)
}

// A backend that hangs for a while and answers probes again comes back; one whose port is
// closed while it rests is gone.
func TestBackendHangs(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", Resident)
		r.Start(task(1, "spark", 0), w.done)
		synctest.Wait()
		w.expect(t, "serves [spark]", "launch 1 at h:1")
		w.fail("h:1", errors.New("timeout"))
		time.Sleep(5 * time.Second)
		w.expect(t, "serves []", "1 lost reason=true")
		r.Start(task(2, "spark", 0), w.done)
		w.expect(t, "2 lost reason=true")
		w.fail("h:1", nil)
		time.Sleep(2 * time.Second)
		w.expect(t, "serves [spark]")
		w.fail("h:1", errors.New("timeout"))
		time.Sleep(5 * time.Second)
		w.expect(t, "serves []")
		w.fail("h:1", errRefused)
		time.Sleep(2 * time.Second)
		if s := r.Stats(); s.Gone != 1 || s.Rested != 2 {
			t.Errorf("counted %+v", s)
		}
		w.fail("h:1", nil)
		time.Sleep(long)
		w.expect(t)
	})(t)
}

// A launch that a live backend answers by closing the connection is tried again; the third
// of one task fails the task. Other tasks there continue.
func TestLaunchThatClosesTheConnection(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", Resident)
		r.Start(task(7, "spark", 0), w.done)
		synctest.Wait()
		w.expect(t, "serves [spark]", "launch 7 at h:1")
		w.launch["h:1"] = func(context.Context) error { return fmt.Errorf("%w: EOF", ErrClosed) }
		for range 2 {
			r.Start(task(1, "spark", 0), w.done)
			synctest.Wait()
			w.expect(t, "1 lost reason=true")
		}
		r.Start(task(1, "spark", 0), w.done)
		synctest.Wait()
		w.expect(t, "1 failed reason=true", "serves []")
		time.Sleep(2 * time.Second)
		w.expect(t, "serves [spark]")
		if err := r.Finished(t.Context(), "h:1", []TaskRef{ref(7)}); err != nil {
			t.Error(err)
		}
		w.expect(t, "7 done reason=false")
	})(t)
}

// A report may name its backend by any address of its host; one by a backend other than the
// task's is refused, and ends what it can.
func TestWorkerOfAReport(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		lookups := 0
		r.cfg.Lookup = func(_ context.Context, host string) ([]string, error) {
			lookups++
			if host == "worker-7.example" {
				return []string{"fd00::7", "192.0.2.7"}, nil
			}
			return nil, errors.New("no such host")
		}
		register(t, r, "spark", "worker-7.example:5", Resident)
		register(t, r, "spark", "192.0.2.8:5", Resident)
		w.expect(t, "serves [spark]", "serves [spark]")
		for i := range 4 { // even ones at the first
			r.Start(task(i, "spark", 0), w.done)
			synctest.Wait()
		}
		w.said = nil
		if err := r.Finished(t.Context(), "192.0.2.7:5", []TaskRef{ref(0)}); err != nil {
			t.Error(err)
		}
		w.expect(t, "0 done reason=false")
		err := r.Finished(t.Context(), "192.0.2.7:5", []TaskRef{ref(1), ref(2)})
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || !strings.Contains(e.What, "in the backend at 192.0.2.8:5") || e.Next == "" {
			t.Errorf("the report of another backend's task: %v", err)
		}
		w.expect(t, "2 done reason=false")
		if lookups != 1 {
			t.Errorf("%d lookups, want 1 that is remembered", lookups)
		}
		for _, worker := range []string{"unknown.example:5", "192.0.2.9:5", "192.0.2.8:6"} {
			if err := r.Finished(t.Context(), worker, []TaskRef{ref(1)}); err == nil {
				t.Errorf("a report by %s ended the task of another", worker)
			}
		}
		w.expect(t)
		if err := r.Finished(t.Context(), "unknown.example:5", []TaskRef{ref(99)}); err != nil {
			t.Errorf("a report of an unknown task: %v", err)
		}
	})(t)
}
