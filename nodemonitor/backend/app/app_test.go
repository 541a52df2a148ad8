package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// bubble runs a test in fake time.
func bubble(f func(t *testing.T, w *world, r *Registry)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			r := w.registry()
			defer r.Close()
			f(t, w, r)
		})
	}
}

func TestClassic(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		register(t, r, "spark", "h:2", Reserved)
		w.expect(t, "+slot 4 spark reserved=false", "+slot 5 spark reserved=true")
		r.Start(task(1, "spark", 5), w.done)
		synctest.Wait()
		w.expect(t, "launch 1 at h:2")
		r.Finished(context.Background(), "h:2", []TaskRef{ref(1)})
		w.expect(t, "1 done reason=false")
		r.Start(task(2, "other", 5), w.done) // a slot serves its own application only
		r.Start(task(3, "spark", 9), w.done) // no such slot
		w.expect(t, "2 lost reason=true", "3 lost reason=true")
	})(t)
}

func TestResident(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", Resident)
		register(t, r, "spark", "h:2", Resident)
		register(t, r, "flink", "h:3", Resident)
		w.expect(t, "serves [spark]", "serves [spark]", "serves [flink spark]")
		for i := range 3 { // to the one with the fewest tasks, the older first
			r.Start(task(i, "spark", 0), w.done)
			synctest.Wait()
		}
		w.expect(t, "launch 0 at h:1", "launch 1 at h:2", "launch 2 at h:1")
		w.fail("h:3", errRefused)
		time.Sleep(2 * time.Second)
		w.expect(t, "serves [spark]")
		r.Start(task(9, "flink", 0), w.done)
		w.expect(t, "9 lost reason=true")
	})(t)
}

func TestRegisteredTwice(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		register(t, r, "spark", "h:1", General)
		w.expect(t, "+slot 4 spark reserved=false")
		r.Start(task(1, "spark", 4), w.done)
		synctest.Wait()
		register(t, r, "spark", "h:1", General) // a new process on the old port
		w.expect(t, "launch 1 at h:1", "1 lost reason=true")
		r.Start(task(2, "spark", 4), w.done)
		synctest.Wait()
		register(t, r, "spark", "h:1", Reserved) // another kind: another slot
		w.expect(t, "launch 2 at h:1", "2 lost reason=true", "-slot 4 reason=true", "+slot 5 spark reserved=true")
		register(t, r, "flink", "h:1", Resident)
		w.expect(t, "-slot 5 reason=true", "serves [flink]")
		if s := r.Stats(); s.Registered != 3 || s.Again != 4 || s.Gone != 2 {
			t.Errorf("counted %+v", s)
		}
	})(t)
}

func TestBackendVanishes(t *testing.T) {
	t.Run("connection refused", bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		w.launch["h:1"] = func(context.Context) error { return errRefused }
		r.Start(task(1, "spark", 4), w.done)
		synctest.Wait()
		w.expect(t, "+slot 4 spark reserved=false", "1 lost reason=true", "-slot 4 reason=true")
		register(t, r, "spark", "h:1", General) // it comes back with a slot under a new number
		w.expect(t, "+slot 5 spark reserved=false")
	}))
	t.Run("no answer", bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		w.launch["h:1"] = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		w.fail("h:1", errors.New("timeout"))
		r.Start(task(1, "spark", 4), w.done)
		time.Sleep(1500 * time.Millisecond)
		w.expect(t, "+slot 4 spark reserved=false")
		time.Sleep(long)
		w.expect(t, "1 lost reason=true", "-slot 4 reason=true")
	}))
	t.Run("a failure now and then", bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		w.expect(t, "+slot 4 spark reserved=false")
		time.Sleep(500 * time.Millisecond) // between two probes
		for range 5 {
			w.fail("h:1", errors.New("timeout"))
			time.Sleep(2 * time.Second)
			w.fail("h:1", nil)
			time.Sleep(time.Second)
		}
		w.expect(t)
	}))
	t.Run("while a task runs", bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", Resident)
		r.Start(task(1, "spark", 0), w.done)
		synctest.Wait()
		w.fail("h:1", errRefused)
		time.Sleep(2 * time.Second)
		w.expect(t, "serves [spark]", "launch 1 at h:1", "1 lost reason=true", "serves []")
	}))
}

func TestLaunchRefusedByALiveBackend(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		w.launch["h:1"] = func(context.Context) error { return fmt.Errorf("%w: no memory", ErrRefused) }
		for i := range 5 {
			r.Start(task(i, "spark", 4), w.done)
			synctest.Wait()
		}
		w.expect(t, "+slot 4 spark reserved=false", "0 failed reason=true", "1 failed reason=true", "2 failed reason=true", "3 failed reason=true", "4 failed reason=true")
	})(t)
}

// TestReportOvertakesTheLaunch: a short task may be reported before the launch
// call has its reply.
func TestReportOvertakesTheLaunch(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		w.launch["h:1"] = func(ctx context.Context) error {
			r.Finished(context.Background(), "h:1", []TaskRef{ref(1)})
			return errors.New("and then the reply was lost")
		}
		r.Start(task(1, "spark", 4), w.done)
		synctest.Wait()
		w.expect(t, "+slot 4 spark reserved=false", "1 done reason=false")
	})(t)
}

func TestReportsOfOthersTasks(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		var log bytes.Buffer
		r.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		register(t, r, "spark", "h:1", General)
		register(t, r, "spark", "h:2", General)
		r.Start(task(1, "spark", 4), w.done)
		synctest.Wait()
		w.said = nil
		r.Finished(context.Background(), "h:1", []TaskRef{ref(7), {}})
		r.Finished(context.Background(), "h:2", []TaskRef{ref(1)}) // it runs at the other one
		w.expect(t)
		r.Finished(context.Background(), "", []TaskRef{ref(1), ref(1)}) // as Sparrow's, and twice
		r.Finished(context.Background(), "h:1", []TaskRef{ref(1)})
		w.expect(t, "1 done reason=false")
		if s := r.Stats(); s.Unknown != 3 || s.Repeated != 2 {
			t.Errorf("counted %+v", s)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines logged within a second, want 1: %s", n, &log)
		}
		time.Sleep(time.Second)
		r.Finished(context.Background(), "h:1", []TaskRef{ref(8)})
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines logged, want 2", n)
		}
		time.Sleep(time.Second)
		log.Reset()
		long := strings.Repeat("x", 1<<20)
		r.Finished(context.Background(), "h:1", []TaskRef{{Job: long, Task: long}})
		if n := log.Len(); n < 100 || n > 2000 {
			t.Errorf("a report with names of a megabyte is logged in %d bytes, want at most 2000", n)
		}
	})(t)
}

// TestEqualNames: job and task names are the application's own, two may use the
// same at one node.
func TestEqualNames(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		for _, app := range []string{"a", "b"} {
			register(t, r, app, "h:"+app, Resident)
			k := task(1, app, 0)
			k.ID.Task, k.TaskName = int32(app[0]), "same"
			r.Start(k, w.done)
		}
		synctest.Wait()
		w.said = nil
		r.Finished(context.Background(), "", []TaskRef{{Job: "job", Task: "same", App: "b", Frontend: "f:1"}})
		w.expect(t, "98 done reason=false")
		r.Finished(context.Background(), "h:a", []TaskRef{{Job: "job", Task: "same"}})
		w.expect(t, "97 done reason=false")
	})(t)
}

func TestKillWaitsForTheBackend(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		r.Start(task(1, "spark", 4), w.done)
		synctest.Wait()
		r.Kill(task(1, "spark", 4).ID)
		r.Kill(task(2, "spark", 4).ID) // unknown
		w.expect(t, "+slot 4 spark reserved=false", "launch 1 at h:1")
		r.Finished(context.Background(), "h:1", []TaskRef{ref(1)})
		w.expect(t, "1 killed reason=false")
	})(t)
}

func TestClose(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		w.launch["h:1"] = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		r.Start(task(1, "spark", 4), w.done)
		r.Close()
		r.Close()
		w.expect(t, "+slot 4 spark reserved=false", "1 killed reason=true")
		r.Start(task(2, "spark", 4), w.done)
		w.expect(t, "2 killed reason=true")
		if err := r.Register("spark", "h:1", General); err == nil {
			t.Error("a closed registry took a backend")
		}
	})(t)
}

func TestRefusedRegistrations(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		r.cfg.MaxBackends = 1
		register(t, r, "spark", "h:1", General)
		for _, tc := range []struct {
			app, address string
			kind         Kind
			want         api.Problem
		}{
			{"", "h:2", General, api.Invalid},
			{strings.Repeat("x", api.MaxKeyBytes+1), "h:2", General, api.Invalid},
			{strings.Repeat("x", 1<<20), "h:2", General, api.Invalid},
			{"spark\x1b[2J", "h:2", General, api.Invalid},
			{"spark", "", General, api.Invalid},
			{"spark", "h:2", 3, api.Invalid},
			{"spark", "h:2", -1, api.Invalid},
			{"spark", "h:2", General, api.Busy},
		} {
			var e *api.Error
			if err := r.Register(tc.app, tc.address, tc.kind); !errors.As(err, &e) || e.Problem != tc.want || e.Next == "" || len(err.Error()) > 2000 {
				t.Errorf("%.200q: %.200v (%d bytes), want the problem %v", tc.app, err, len(fmt.Sprint(err)), tc.want)
			}
		}
		register(t, r, "spark", "h:1", General) // the known one causes no event
	})(t)
}

// One user has half of the backends, and others have the rest.
func TestBackendsOfOneUser(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		r.cfg.MaxBackends = 5
		etl, nightly, lab := api.ScopedApp("alice", "etl"), api.ScopedApp("alice", "nightly"), api.ScopedApp("bob", "lab")
		register(t, r, etl, "h:1", General)
		register(t, r, nightly, "h:2", Resident)
		err := r.Register(etl, "h:3", General)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Busy || e.What != "the node has 2 backends of alice, its limit for one user (half of max_backends)" {
			t.Errorf("a third backend of alice, of a limit of five: %v", err)
		}
		register(t, r, etl, "h:2", General) // in the place of the other
		register(t, r, lab, "h:3", General)
		register(t, r, "own", "h:4", General) // of the daemons' own user
		register(t, r, "own", "h:5", General)
	})(t)
}

func TestCallbacksMayCallAgain(t *testing.T) {
	bubble(func(t *testing.T, w *world, r *Registry) {
		register(t, r, "spark", "h:1", General)
		left := 3
		var next func()
		next = func() {
			left--
			r.Start(task(left, "nobody", 0), func(backend.Result) {
				if left > 0 {
					next()
				}
			})
		}
		next()
		if left != 0 {
			t.Errorf("%d starts left", left)
		}
	})(t)
}
