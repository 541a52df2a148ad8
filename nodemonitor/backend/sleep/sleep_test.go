package sleep

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func id(n int) sched.AttemptID { return sched.AttemptID{Task: int32(n), Attempt: 1} }

func task(n int, d time.Duration) backend.Task {
	return backend.Task{ID: id(n), Payload: api.Payload{Backend: api.BackendSleep, Sleep: d}}
}

// ends collects results and notices a second end of one attempt.
type ends struct {
	t    *testing.T
	mu   sync.Mutex
	list []backend.Result
	seen map[sched.AttemptID]bool
}

func newEnds(t *testing.T) *ends { return &ends{t: t, seen: map[sched.AttemptID]bool{}} }

func (e *ends) add(r backend.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen[r.ID] {
		e.t.Errorf("attempt %v ended twice", r.ID)
	}
	e.seen[r.ID] = true
	e.list = append(e.list, r)
}

func (e *ends) count(o sched.Outcome) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.list {
		if r.Outcome == o {
			n++
		}
	}
	return n
}

func TestSleepsEndInOrderAndOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(WithTimer())
		defer b.Close()
		e := newEnds(t)
		lengths := []time.Duration{3 * time.Second, time.Nanosecond, time.Second, 2 * time.Second, time.Second}
		for i, d := range lengths {
			b.Start(task(i, d), e.add)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		var order []int32
		for _, r := range e.list {
			order = append(order, r.ID.Task)
			if got, want := r.Finished.Sub(r.Started), lengths[r.ID.Task]; got != want {
				t.Errorf("task %d slept %v, want %v", r.ID.Task, got, want)
			}
			if r.Outcome != sched.Done {
				t.Errorf("task %d ended %v (%s)", r.ID.Task, r.Outcome, r.Reason)
			}
		}
		if want := []int32{1, 2, 4, 3, 0}; !slices.Equal(order, want) {
			t.Errorf("ended in the order %v, want %v", order, want)
		}
	})
}

func TestNoLengthEndsInsideStart(t *testing.T) {
	b := New()
	defer b.Close()
	for _, d := range []time.Duration{0, -time.Second} {
		ended := false
		b.Start(task(0, d), func(r backend.Result) { ended = r.Outcome == sched.Done && !r.Started.IsZero() })
		if !ended {
			t.Errorf("a sleep of %v had not ended when Start returned", d)
		}
	}
}

func TestSuspendHoldsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(WithTimer())
		defer b.Close()
		e := newEnds(t)
		b.Start(task(1, 10*time.Second), e.add)
		time.Sleep(4 * time.Second)
		for range 2 { // repeating changes nothing
			if err := b.Suspend(id(1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		synctest.Wait()
		if len(e.list) != 0 {
			t.Fatal("a suspended sleep ended")
		}
		for range 2 {
			if err := b.Resume(id(1)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(e.list) != 1 {
			t.Fatal("the resumed sleep did not end")
		}
		r := e.list[0]
		if got, want := r.Finished.Sub(r.Started), 10*time.Second+2*time.Hour; got != want {
			t.Errorf("ended after %v, want %v", got, want)
		}
		if b.Suspend(id(1)) == nil || b.Resume(id(1)) == nil {
			t.Error("an ended attempt was suspended or resumed")
		}
	})
}

func TestKillEndsSleepingAndSuspended(t *testing.T) {
	b := New()
	defer b.Close()
	e := newEnds(t)
	b.Start(task(1, time.Hour), e.add)
	b.Start(task(2, time.Hour), e.add)
	if err := b.Suspend(id(2)); err != nil {
		t.Fatal(err)
	}
	b.Kill(id(1))
	b.Kill(id(2))
	b.Kill(id(2))
	b.Kill(id(3))
	if got := e.count(sched.Killed); got != 2 {
		t.Errorf("%d ended killed when Kill returned, want 2", got)
	}
}

func TestSecondStartOfARunningAttemptIsRefused(t *testing.T) {
	b := New()
	defer b.Close()
	b.Start(task(1, time.Hour), func(backend.Result) {})
	var second backend.Result
	b.Start(task(1, time.Hour), func(r backend.Result) { second = r })
	if second.Outcome != sched.Failed || second.Reason == "" {
		t.Errorf("second start gave %v %q", second.Outcome, second.Reason)
	}
}

func TestCloseEndsEverythingOnce(t *testing.T) {
	b := New()
	e := newEnds(t)
	var starting sync.WaitGroup
	for g := range 4 {
		starting.Go(func() {
			for i := range 500 {
				n := g*1000 + i
				b.Start(task(n, time.Duration(rand.IntN(2_000_000))), e.add)
				if i%3 == 0 {
					b.Kill(id(n))
				}
				if i%7 == 0 {
					_ = b.Suspend(id(n)) // may have ended
				}
			}
		})
	}
	starting.Go(b.Close)
	starting.Wait()
	b.Close()
	if len(e.list) != 2000 {
		t.Errorf("%d of 2000 started attempts ended", len(e.list))
	}
	b.Start(task(9999, 0), e.add)
	if last := e.list[len(e.list)-1]; last.ID != id(9999) || last.Outcome != sched.Killed {
		t.Errorf("a start after Close gave %v", last.Outcome)
	}
}

func TestHundredThousandAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(WithTimer())
		defer b.Close()
		e := newEnds(t)
		const n = 100_000
		for i := range n {
			b.Start(task(i, time.Duration(1+i%1000)*time.Millisecond), e.add)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := e.count(sched.Done); got != n {
			t.Errorf("%d of %d done", got, n)
		}
	})
}

// The longest sleep there is does not delay the others, whether it begins, is resumed or is taken over.
func TestSleepsBeyondTheEndOfTime(t *testing.T) {
	for _, options := range [][]Option{nil, {WithTimer()}} {
		b := New(options...)
		defer b.Close()
		e, done := newEnds(t), make(chan struct{}, 1)
		b.Start(task(0, math.MaxInt64), e.add)
		b.TakeOver(&Handover{ID: id(1), Remains: math.MaxInt64}, e.add)
		b.Start(task(2, math.MaxInt64), e.add)
		for _, change := range []func(sched.AttemptID) error{b.Suspend, b.Resume} {
			if err := change(id(2)); err != nil {
				t.Fatal(err)
			}
		}
		b.Start(task(3, time.Millisecond), func(backend.Result) { done <- struct{}{} })
		select {
		case <-done:
		case <-time.After(await.Limit):
			t.Fatal("a sleep of 1 ms has not ended")
		}
		if got := e.count(sched.Done); got > 0 {
			t.Errorf("%d of the longest sleeps are over", got)
		}
	}
}

// TestRealAlarm holds the default alarm to its contract: never early.
func TestRealAlarm(t *testing.T) {
	b := New()
	defer b.Close()
	results := make(chan backend.Result)
	for i, d := range []time.Duration{5 * time.Millisecond, time.Millisecond, 200 * time.Microsecond} {
		b.Start(task(i, d), func(r backend.Result) {
			if slept := r.Finished.Sub(r.Started); slept < d {
				t.Errorf("slept %v of %v", slept, d)
			}
			results <- r
		})
	}
	for _, want := range []int32{2, 1, 0} {
		if r := <-results; r.ID.Task != want {
			t.Errorf("task %d ended, want %d", r.ID.Task, want)
		}
	}
}
