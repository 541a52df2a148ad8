package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"pgregory.net/rapid"
)

// quiet receives the events and ignores them.
type quiet struct{}

func (quiet) SlotAdded(Slot)         {}
func (quiet) SlotGone(Slot, string)  {}
func (quiet) ServesChanged([]string) {}

// TestEveryStartEndsOnce lets launches fail, backends come and go, and reports
// come wrong and twice, all at once.
func TestEveryStartEndsOnce(t *testing.T) {
	r := New(Config{Events: quiet{}, Launch: func(context.Context, string, *backend.Task) error {
		if rand.N(5) == 0 {
			return errors.New("no")
		}
		return nil
	}})
	var mu sync.Mutex
	ends := map[sched.AttemptID]int{}
	var wg sync.WaitGroup
	const workers, each = 4, 500
	for g := range workers {
		wg.Go(func() {
			for i := range each {
				n := g*each + i
				if rand.N(10) == 0 {
					_ = r.Register("spark", fmt.Sprintf("127.0.0.1:%d", rand.N(3)), Kind(rand.N(3))) // any may fail to be new
				}
				k := task(n, "spark", int32(rand.N(6)))
				r.Start(k, func(res backend.Result) {
					mu.Lock()
					defer mu.Unlock()
					ends[res.ID]++
				})
				r.Finished(context.Background(), "", []TaskRef{ref(rand.N(n + 1)), ref(n)})
				r.Kill(k.ID)
			}
		})
	}
	wg.Wait()
	r.Close()
	if len(ends) != workers*each {
		t.Errorf("%d of %d ended", len(ends), workers*each)
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("%v ended %d times", id, n)
		}
	}
}

// TestDefaultProbe uses a real listener.
func TestDefaultProbe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := connect(t.Context(), l.Addr().String()); err != nil {
		t.Errorf("a listening backend: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if connect(t.Context(), l.Addr().String()) == nil {
		t.Error("a closed port passed for a backend")
	}
}

// TestTableAgainstList checks the table's two indexes against a plain list.
func TestTableAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := newTable()
		homes := []*process{{address: "h:0"}, {address: "h:1"}}
		var list []*run
		ids := 0
		draw := rapid.IntRange(0, 2)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				ids++
				u := &run{task: task(draw.Draw(t, "name"), "spark", 0), home: homes[draw.Draw(t, "home")%2]}
				u.task.ID.Task = int32(ids)
				tab.add(u)
				list = append(list, u)
			},
			"report": func(t *rapid.T) {
				n, worker := draw.Draw(t, "name"), []string{"", "h:0", "h:1"}[draw.Draw(t, "worker")]
				var want *run
				rest := list[:0:0]
				for _, u := range list {
					if want == nil && u.task.TaskName == fmt.Sprint(n) && (worker == "" || worker == u.home.address) {
						want = u
						continue
					}
					rest = append(rest, u)
				}
				if got := tab.find(ref(n), worker); got != want {
					t.Fatalf("task %d of %q: found %v, want %v", n, worker, got, want)
				}
				if want != nil {
					tab.remove(want)
					list = rest
					if !tab.ended(ref(n)) {
						t.Fatal("an end is not remembered")
					}
				}
			},
			"": func(t *rapid.T) {
				if len(tab.byID) != len(list) {
					t.Fatalf("%d in the table, want %d", len(tab.byID), len(list))
				}
			},
		})
	})
}

func TestRememberedEndsAreBounded(t *testing.T) {
	tab := newTable()
	for i := range 3 * remembered {
		tab.remember(names{"job", fmt.Sprint(i % (2 * remembered))})
	}
	if len(tab.last) != remembered || len(tab.recent) > remembered || !tab.ended(ref(remembered-1)) || tab.ended(ref(remembered)) {
		t.Errorf("%d ends in the ring, %d names", len(tab.last), len(tab.recent))
	}
}
