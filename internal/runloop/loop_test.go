package runloop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Waiting entries are handled as one batch, in order, and those that are posted meanwhile as
// the next.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var batches [][]int
		hold := make(chan struct{})
		l := runloop.New(10, func(batch []int) {
			batches = append(batches, slices.Clone(batch))
			<-hold
		})
		ctx, stop := context.WithCancel(t.Context())
		go l.Run(ctx)
		post := func(items ...int) {
			t.Helper()
			if err := l.Post(items...); err != nil {
				t.Error(err)
			}
		}
		post(1)
		synctest.Wait()
		post(2, 3)
		post(4)
		synctest.Wait()
		close(hold)
		synctest.Wait()
		stop()
		synctest.Wait()
		if want := [][]int{{1}, {2, 3}, {4}}; len(batches) != 2 || !slices.Equal(batches[0], want[0]) || !slices.Equal(batches[1], []int{2, 3, 4}) {
			t.Errorf("%v", batches)
		}
	})
}

// The limit refuses all entries or none, and is named; PostUnbounded has none.
func TestLimit(t *testing.T) {
	var got []int
	l := runloop.New(3, func(batch []int) { got = append(got, batch...) })
	if err := l.Post(1, 2); err != nil {
		t.Fatal(err)
	}
	var full *runloop.FullError
	if err := l.Post(3, 4); !errors.As(err, &full) || full.Limit != 3 || !strings.Contains(err.Error(), "3 entries") {
		t.Errorf("%v", err)
	}
	if err := errors.Join(l.Post(5), l.PostUnbounded(6, 7)); err != nil {
		t.Error(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	l.Run(ended)
	if !slices.Equal(got, []int{1, 2, 5, 6, 7}) {
		t.Errorf("handled %v", got)
	}
	if err := l.Post(8); !errors.Is(err, runloop.ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := l.PostUnbounded(8); !errors.Is(err, runloop.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// Every input posted without an error is handled, once, and in the order of each
// poster, also when the loop ends in the middle.
func TestNothingIsLost(t *testing.T) {
	for range 50 {
		type entry struct{ poster, number int }
		var handled []entry // the loop's, read when it has ended
		l := runloop.New(1<<20, func(batch []entry) { handled = append(handled, batch...) })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var loop, posters sync.WaitGroup
		loop.Go(func() { l.Run(ctx) })
		posted := make([]int, 4)
		for p := range posted {
			posters.Go(func() {
				for l.Post(entry{p, posted[p]}) == nil {
					if posted[p]++; posted[p] == 100 && p == 0 {
						stop()
					}
				}
			})
		}
		posters.Wait()
		loop.Wait()
		next := make([]int, len(posted))
		for _, e := range handled {
			if e.number != next[e.poster] {
				t.Fatalf("poster %d: entry %d after %d", e.poster, e.number, next[e.poster]-1)
			}
			next[e.poster]++
		}
		if !slices.Equal(next, posted) {
			t.Fatalf("handled %v of %v", next, posted)
		}
	}
}

// Timers fire when they are due, not before; one that is late already at once.
func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := runloop.NewClock()
		type shot struct {
			self  sched.Addr
			token uint64
			at    sched.Time
		}
		var mu sync.Mutex
		var shots []shot
		timers := runloop.NewTimers(clock, func(self sched.Addr, token uint64) {
			mu.Lock()
			defer mu.Unlock()
			shots = append(shots, shot{self, token, clock.Now()})
		})
		self := sched.Addr{Role: sched.Master, ID: 3}
		start := clock.Now()
		if start != sched.Time(time.Now().UnixNano()) {
			t.Errorf("the clock begins at %d, not with the machine's", start)
		}
		timers.Set(self, start+2*sched.Second, 7)
		timers.Set(self, start+sched.Second, 8)
		timers.Set(self, start-sched.Second, 9)
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		want := []shot{{self, 9, start}, {self, 8, start + sched.Second}, {self, 7, start + 2*sched.Second}}
		if !slices.Equal(shots, want) {
			t.Errorf("%v, want %v", shots, want)
		}
	})
}

func BenchmarkPost(b *testing.B) {
	l := runloop.New(1<<20, func([]func()) {})
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var loop sync.WaitGroup
	loop.Go(func() { l.Run(ctx) })
	do := func() {}
	b.ReportAllocs()
	for b.Loop() {
		for l.Post(do) != nil { // the loop catches up
		}
	}
	stop()
	loop.Wait()
}
