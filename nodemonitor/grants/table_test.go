package grants_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
)

// inBubble runs a test on a clock that does not advance while any goroutine works.
func inBubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.Close()
		test(w)
	})
}

// A grant is assigned to the executor with the fewest, answered until it is
// acknowledged, ended once.
func TestGrant(t *testing.T) {
	inBubble(t, func(w *world) {
		w.wantServing()
		w.attach("1", 2)
		w.attach("2", 2)
		w.wantServing("a")
		w.start(1)
		w.start(2)
		w.start(3)
		w.wantGrants("1", 0, 1, 3)
		w.wantGrants("1", 0, 1, 3) // the answer may have been lost
		w.wantGrants("1", 1, 3)
		w.wantGrants("1", 2)
		w.wantGrants("2", 0, 2)
		w.finish("1", api.GrantUsed, 1)
		w.finish("1", api.GrantUsed, 1) // a repetition counts once
		w.finish("2", api.GrantDeclined, 2)
		w.finish("1", api.GrantUnfit, 3)
		w.wantOutcomes(sched.Done, sched.Done, sched.Failed)
		if s := w.Stats(); s != (grants.Stats{Granted: 3, Used: 1, Declined: 1, Unfit: 1, Leased: 3}) {
			t.Errorf("%+v", s)
		}
	})
}

// A wait returns a grant at once, and nothing when the wait is over.
func TestAwait(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 1)
		began := time.Now()
		type answer struct {
			g  api.Grants
			at time.Duration
		}
		answers := make(chan answer)
		ask := func(wait time.Duration) {
			g, err := w.AwaitGrants(context.Background(), executor("1"), 0, wait)
			if err != nil {
				t.Error(err)
			}
			answers <- answer{g, time.Since(began)}
		}
		go ask(time.Second)
		if a := <-answers; a.at != time.Second || len(a.g.Grants) != 0 {
			t.Errorf("%+v, want nothing after a second", a)
		}
		go ask(time.Minute)
		synctest.Wait()
		w.start(1)
		if a := <-answers; a.at != time.Second || len(a.g.Grants) != 1 {
			t.Errorf("%+v, want a grant at once", a)
		} else if g := a.g.Grants[0]; g.Level != "level" || g.Class != "short" || g.Lease != 100*time.Millisecond {
			t.Errorf("%+v", g)
		}
		w.finish("1", api.GrantUsed, 1)
	})
}

// A node serves an application only while an executor has room, and for a moment
// afterwards.
func TestServing(t *testing.T) {
	inBubble(t, func(w *world) {
		w.Admit("a", "1", "t1")
		w.wantServing() // it has not attached yet
		w.attach("1", 1)
		w.wantServing("a")
		w.start(1)
		w.await("1", 0)
		w.wantServing("a")
		time.Sleep(100 * time.Millisecond)
		w.wantServing()
		w.finish("1", api.GrantUsed, 1)
		w.wantServing("a")
		w.Remove("a", "1", "gone")
		w.wantServing()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.changes != 4 {
			t.Errorf("%d changes were reported, want 4", w.changes)
		}
	})
}

// Executors with as many slots as the node have room whenever it has a free slot.
func TestServingAll(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 4)
		w.attach("2", 4)
		for n := range 8 {
			w.start(n)
		}
		time.Sleep(time.Second)
		w.wantServing("a")
	})
}

// A grant without room waits; the first free slot of an executor receives the
// first that waits.
func TestWaitsForRoom(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 1)
		w.start(1)
		w.start(2)
		w.wantGrants("1", 0, 1)
		w.finish("1", api.GrantUsed, 1)
		w.wantGrants("1", 1, 2)
		w.finish("1", api.GrantUsed, 2)
		w.wantOutcomes(sched.Done, sched.Done)
	})
}

// A grant that is not fetched is lost, and its executor gets none before it polls
// again.
func TestNobodyFetches(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 4)
		w.start(1)
		time.Sleep(3 * time.Second)
		w.wantOutcomes(sched.Lost)
		w.wantServing()
		w.wantGrants("1", 0)
		w.wantServing("a")
		w.start(2)
		w.wantGrants("1", 0, 2)
		time.Sleep(time.Hour)
		w.wantOutcomes(sched.Lost, 0) // it was answered, so it may be in use
		w.finish("1", api.GrantUsed, 2)
	})
}

// Grants go past an executor that has left one unfetched, although it holds fewer than the other.
func TestOthersGetWhatOneDoesNotFetch(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 4)
		w.start(1)
		time.Sleep(3 * time.Second)
		w.wantOutcomes(sched.Lost)
		w.attach("2", 2)
		w.start(2)
		w.start(3)
		w.wantGrants("2", 0, 2, 3)
		w.wantGrants("1", 0)
		w.start(4)
		w.wantGrants("1", 0, 4)
		w.finish("1", api.GrantUsed, 4)
		w.finish("2", api.GrantUsed, 2, 3)
	})
}

// When an executor ends, its grants that reached it fail; the others are assigned
// again.
func TestExecutorEnds(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 2)
		w.start(1)
		w.wantGrants("1", 0, 1)
		w.start(2)
		waiting := make(chan error)
		w.attach("2", 2)
		go func() {
			_, err := w.AwaitGrants(context.Background(), executor("1"), 2, time.Hour)
			waiting <- err
		}()
		synctest.Wait()
		w.Remove("a", "1", "it was killed")
		if err := <-waiting; problemOf(err) != api.NotFound {
			t.Errorf("the call that waited returned %v", err)
		}
		w.wantOutcomes(sched.Failed, 0)
		w.wantGrants("2", 0, 2)
		w.finish("2", api.GrantUsed, 2)
		w.wantOutcomes(sched.Failed, sched.Done)
	})
}

// Kill ends a grant that has not reached its executor; one that has must be returned.
func TestKill(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 2)
		w.start(1)
		w.Kill(attempt(1))
		w.wantOutcomes(sched.Killed)
		w.wantGrants("1", 0)
		w.start(2)
		w.wantGrants("1", 0, 2)
		w.Kill(attempt(2))
		w.Kill(attempt(3)) // unknown
		w.wantOutcomes(sched.Killed, 0)
		g, err := w.AwaitGrants(context.Background(), executor("1"), 2, time.Hour)
		if err != nil || len(g.GiveBack) != 1 || g.GiveBack[0] != attempt(2).String() {
			t.Errorf("%+v, %v: want the grant named in GiveBack", g, err)
		}
		w.finish("1", api.GrantUsed, 2)
		w.wantOutcomes(sched.Killed, sched.Killed)
	})
}

func TestForget(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 1)
		w.start(1)
		w.wantGrants("1", 0, 1)
		w.start(2)
		w.Forget("a")
		w.wantOutcomes(sched.Failed, sched.Failed)
		w.start(3)
		w.wantOutcomes(sched.Failed, sched.Failed, sched.Lost)
		if w.Knows("a") {
			t.Error("it is known still")
		}
	})
}

func TestClose(t *testing.T) {
	w := newWorld(t)
	w.attach("1", 1)
	w.start(1)
	w.await("1", 0)
	w.start(2)
	w.holds.Hold("c", "1", 2, func() {})
	w.startAt(w.holds, "c/1", 3)
	for range 2 {
		w.Close()
		w.holds.Close()
	}
	w.wantOutcomes(sched.Killed, sched.Killed, sched.Killed)
	w.start(4)
	w.wantOutcomes(sched.Killed, sched.Killed, sched.Killed, sched.Killed)
	if err := w.AttachExecutor(context.Background(), executor("1"), 1); problemOf(err) != api.NotReady {
		t.Errorf("attaching to a closed table: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	defer w.Close()
	w.attach("1", 1)
	wrongToken := executor("1")
	wrongToken.Token = "guess"
	ctx := context.Background()
	for name, c := range map[string]struct {
		call func() error
		want api.Problem
	}{
		"no such executor": {func() error { return w.AttachExecutor(ctx, executor("9"), 1) }, api.NotFound},
		"a wrong token":    {func() error { return w.AttachExecutor(ctx, wrongToken, 1) }, api.Invalid},
		"no slots":         {func() error { return w.AttachExecutor(ctx, executor("1"), 0) }, api.Invalid},
		"slots beyond all": {func() error { return w.AttachExecutor(ctx, executor("1"), api.MaxTasks+1) }, api.Invalid},
		"a token to wait":  {func() error { _, err := w.AwaitGrants(ctx, wrongToken, 0, 0); return err }, api.Invalid},
		"a token to end":   {func() error { return w.EndGrants(ctx, wrongToken, nil) }, api.Invalid},
		"ends beyond all":  {func() error { return w.EndGrants(ctx, executor("1"), make([]api.GrantEnd, 100_001)) }, api.Invalid},
	} {
		if got := problemOf(c.call()); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// An executor without grants has its slots when all are here, and releases them
// only when it ends.
func TestHold(t *testing.T) {
	inBubble(t, func(w *world) {
		full := 0
		w.holds.Hold("c", "7", 2, func() { full++ })
		w.wantServing("c/7")
		w.startAt(w.holds, "c/7", 1)
		w.holds.Kill(attempt(1))
		w.startAt(w.holds, "c/7", 2)
		if full != 0 || w.holds.Holding("c", "7") != 1 {
			t.Fatal(full, w.holds.Holding("c", "7"))
		}
		w.startAt(w.holds, "c/7", 3)
		w.wantServing()
		w.startAt(w.holds, "c/7", 4) // one too many
		w.holds.Kill(attempt(2))     // its executor runs
		if full != 1 {
			t.Fatal("full was called", full, "times")
		}
		w.wantOutcomes(sched.Killed, 0, 0, sched.Done)
		w.holds.Release("c", "7")
		w.wantOutcomes(sched.Killed, sched.Killed, sched.Done, sched.Done)
	})
}
