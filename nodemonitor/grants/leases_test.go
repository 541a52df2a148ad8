package grants_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
)

// launch starts a task of the class; contended means that others wait.
func (w *world) launch(task int, short, contended bool) {
	w.Start(backend.Task{ID: attempt(task), App: "a", HT: short, Contended: contended}, func(backend.Result) {})
}

func (w *world) poll(after int64) api.Grants {
	w.t.Helper()
	g, err := w.AwaitGrants(context.Background(), executor("1"), after, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// A grant has a lease unless others wait when it is launched; a launch for which they
// wait ends the leases on the node that are not more urgent.
func TestLeaseEndsWhenOthersWait(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 8)
		w.launch(1, true, false)
		w.launch(2, false, false)
		first := w.poll(0)
		if len(first.Grants) != 2 || first.Grants[0].Lease != 100*time.Millisecond || first.Grants[1].Lease != 100*time.Millisecond {
			t.Fatalf("when no others wait: %+v", first)
		}
		w.launch(3, false, false) // it is not answered before others wait
		w.launch(4, false, true)
		second := w.poll(first.UpTo)
		if len(second.Grants) != 2 || second.Grants[0].Lease != 0 || second.Grants[1].Lease != 0 {
			t.Errorf("grants for which others wait: %+v", second)
		}
		if !slices.Equal(second.GiveBack, names(2)) {
			t.Errorf("others wait for long work, and the executor received %v", second.GiveBack)
		}
		w.launch(5, true, true)
		third := w.poll(second.UpTo)
		if !slices.Equal(third.GiveBack, names(1, 2)) {
			t.Errorf("others wait for short work, and the executor received %v", third.GiveBack)
		}
		if again := w.poll(third.UpTo); len(again.GiveBack) != 0 || len(again.Grants) != 0 {
			t.Errorf("answered once more without need: %+v", again)
		}
		if s := w.Stats(); s.Leased != 2 || s.Recalled != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// The master's notice that tasks wait ends the leases of other applications that are
// not more urgent, and those of grants that are not fetched yet.
func TestLeaseEndsByTheMastersWord(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 8)
		w.launch(1, true, false)
		w.launch(2, false, false)
		first := w.poll(0)
		w.launch(3, false, false) // it is not answered yet
		w.OthersWait("a", "", sched.Short)
		if s := w.Stats(); s.Recalled != 0 {
			t.Errorf("an application's own tasks end its leases: %+v", s)
		}
		w.OthersWait("b", "", sched.Long)
		second := w.poll(first.UpTo)
		if len(second.Grants) != 1 || second.Grants[0].Lease != 0 || !slices.Equal(second.GiveBack, names(2)) {
			t.Errorf("long tasks of another wait, and the executor received %+v", second)
		}
		w.OthersWait("b", "", sched.Short)
		if third := w.poll(second.UpTo); !slices.Equal(third.GiveBack, names(1, 2)) {
			t.Errorf("short tasks of another wait, and the executor received %+v", third)
		}
	})
}

// A lost answer is repeated, without a lease that has ended.
func TestLeaseIsNotGivenAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 8)
		w.launch(1, true, false)
		if lost := w.poll(0); len(lost.Grants) != 1 || lost.Grants[0].Lease == 0 {
			t.Fatalf("when no others wait: %+v", lost)
		}
		w.OthersWait("b", "", sched.Short)
		if again := w.poll(0); len(again.Grants) != 1 || again.Grants[0].Lease != 0 {
			t.Errorf("others wait, and the grant is answered again as %+v", again)
		}
	})
}

// A lease may be long where the master's notice can end it. Where notices cannot
// arrive, new ones are short, and those that were long are over.
func TestLeaseIsLongWhileTheMasterIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *grants.Config) { c.Lease = 5 * time.Second })
		defer w.Close()
		w.attach("1", 8)
		upTo := int64(0)
		lease := func(task int) time.Duration {
			w.launch(task, true, false)
			g := w.poll(upTo)
			upTo = g.UpTo
			return g.Grants[len(g.Grants)-1].Lease
		}
		if got := lease(1); got != time.Second {
			t.Errorf("no state of NATS was set yet, and the lease is %v", got)
		}
		w.SetNotices(true)
		if got := lease(2); got != 5*time.Second {
			t.Errorf("notices arrive, and the lease is %v", got)
		}
		w.SetNotices(false)
		if g := w.poll(upTo); !slices.Equal(g.GiveBack, names(1, 2)) {
			t.Errorf("notices arrive no more, and the executor received %+v", g)
		}
		if got := lease(3); got != time.Second {
			t.Errorf("then the lease is %v", got)
		}
		w.SetNotices(false)
		if s := w.Stats(); s.Recalled != 2 {
			t.Errorf("notices were switched off twice: %+v", s)
		}
	})
}

// The notice that tasks of an owner wait ends the leases of the other owners of the
// same application, and none of its own.
func TestLeaseEndsForAnotherOwner(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 8)
		for task, owner := range map[int]string{1: "alice", 2: "bob"} {
			w.Start(backend.Task{ID: attempt(task), App: "a", Owner: owner, HT: true}, func(backend.Result) {})
		}
		first := w.poll(0)
		if len(first.Grants) != 2 || first.Grants[0].Lease == 0 || first.Grants[1].Lease == 0 {
			t.Fatalf("when no others wait: %+v", first)
		}
		w.OthersWait("a", "bob", sched.Short)
		if second := w.poll(first.UpTo); !slices.Equal(second.GiveBack, names(1)) {
			t.Errorf("bob's tasks wait, and the executor received %+v", second)
		}
	})
}

// What an executor must return is named to it also when the answer that named it was lost with its
// connection, and when a call still waits on a connection that it has lost.
func TestGiveBackAfterALostConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		w.attach("1", 8)
		w.launch(1, true, false)
		first := w.poll(0)
		lost := make(chan api.Grants, 2)
		ask := func(answer chan<- api.Grants) {
			g, err := w.AwaitGrants(context.Background(), executor("1"), first.UpTo, time.Minute)
			if err != nil {
				t.Error(err)
			}
			answer <- g
		}
		reattach := func() {
			if err := w.AttachExecutor(context.Background(), executor("1"), 8); err != nil {
				t.Fatal(err)
			}
		}
		go ask(lost)
		synctest.Wait()
		w.Kill(attempt(1))
		if g := <-lost; !slices.Equal(g.GiveBack, names(1)) {
			t.Fatalf("the answer that is lost names %v", g.GiveBack)
		}
		reattach()
		if g := w.poll(first.UpTo); !slices.Equal(g.GiveBack, names(1)) {
			t.Errorf("after a lost answer: %v", g.GiveBack)
		}

		w.finish("1", api.GrantUsed, 1)
		w.launch(2, false, false)
		first = w.poll(first.UpTo)
		go ask(lost) // its connection breaks
		synctest.Wait()
		reattach()
		answer := make(chan api.Grants, 1)
		go ask(answer)
		synctest.Wait()
		w.OthersWait("b", "", sched.Long)
		synctest.Wait()
		if g := <-answer; !slices.Equal(g.GiveBack, names(2)) {
			t.Errorf("while a call waits on the lost connection: %v", g.GiveBack)
		}
		if g := <-lost; len(g.GiveBack) != 0 || len(g.Grants) != 0 || g.UpTo != first.UpTo {
			t.Errorf("the call on the lost connection is answered with %+v", g)
		}
	})
}
