package leadership_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/internal/leadership/leadershiptest"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = 1500 * time.Millisecond

// process is a running candidate and the events that it has reported.
type process struct {
	*leadership.Candidate
	stop func()

	mu    sync.Mutex
	token uint64 // of OnLead, 0 after OnLost
	lost  error
}

// told returns the last token, 0 after its end, and why the last leadership ended.
func (p *process) told() (token uint64, lost error) {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.token, p.lost
}

func (p *process) tell(token uint64, lost error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token, p.lost = token, lost
}

// start starts a candidate inside a bubble, whose clock it uses.
func start(t *testing.T, store leadership.Store, holder string) *process {
	t.Helper()
	begun := time.Now()
	p := &process{}
	p.Candidate = leadership.New(leadership.Options{
		Name: "master.0", TTL: ttl, Store: store, Log: slog.New(slog.DiscardHandler),
		Record: leadership.Record{Holder: holder, Address: holder + ":1", Incarnation: 7},
		OnLead: func(token uint64) { p.tell(token, nil) },
		OnLost: func(err error) { p.tell(0, err) },
		Now:    func() sched.Time { return sched.Time(time.Since(begun)) + sched.Second },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	p.stop = func() { cancel(); <-done }
	synctest.Wait()
	return p
}

func (p *process) expect(t *testing.T, leads bool) {
	t.Helper()
	if token, _ := p.told(); p.Leads() != leads || (token != 0) != leads {
		t.Errorf("leads: %v, token %d, want %v", p.Leads(), token, leads)
	}
}

func TestOneLeadsAndAnotherTakesOverWhenItIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := leadershiptest.NewMemory()
		a := start(t, store, "a")
		b := start(t, store, "b")
		defer b.stop()
		time.Sleep(10 * ttl)
		a.expect(t, true)
		b.expect(t, false)
		first, _ := a.told()
		if l, ok := b.Leader(); !ok || l.Holder != "a" || l.Address != "a:1" || l.Token != first || l.TTL != ttl {
			t.Errorf("b knows of %+v, %v", l, ok)
		}
		a.stop() // without a word, as a process that was killed
		if _, lost := a.told(); a.Leads() || !errors.Is(lost, leadership.ErrResigned) {
			t.Errorf("after its end a leads: %v, %v", a.Leads(), lost)
		}
		time.Sleep(ttl / 2)
		b.expect(t, false)
		time.Sleep(ttl)
		b.expect(t, true)
		if token, _ := b.told(); token <= first {
			t.Errorf("token %d after %d", token, first)
		}
	})
}

func TestTheNextLeadsAtOnce(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, a *process){
		"after a resignation": func(t *testing.T, a *process) {
			err := a.Resign(t.Context())
			if _, lost := a.told(); err != nil || a.Leads() || !errors.Is(lost, leadership.ErrResigned) {
				t.Errorf("resigned: %v, leads: %v, lost: %v", err, a.Leads(), lost)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := leadershiptest.NewMemory()
				a := start(t, store, "a")
				defer a.stop()
				b := start(t, store, "b")
				defer b.stop()
				time.Sleep(ttl)
				before := time.Now()
				end(t, a)
				b.expect(t, true)
				if waited := time.Since(before); waited != 0 {
					t.Errorf("after %v", waited)
				}
			})
		})
	}
}

// A leadership that was given up is no warning: that is how a leader stops in order.
func TestLogOfAResignation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := leadership.New(leadership.Options{
			Name: "master.0", TTL: ttl, Store: leadershiptest.NewMemory(), Log: slog.New(slog.NewTextHandler(&log, nil)),
			Record: leadership.Record{Holder: "a", Incarnation: 7},
		})
		done := make(chan struct{})
		go func() { defer close(done); c.Run(t.Context()) }()
		time.Sleep(ttl)
		if err := c.Resign(t.Context()); err != nil {
			t.Error(err)
		}
		<-done
		if got := log.String(); strings.Contains(got, "level=WARN") || !strings.Contains(got, "the leadership was given up") {
			t.Errorf("the log:\n%s", got)
		}
	})
}

func TestALeaderWithoutItsStoreStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := leadershiptest.NewMemory()
		a := start(t, store, "a")
		defer a.stop()
		first, _ := a.told()
		time.Sleep(ttl)
		store.Fail(errors.New("no server"))
		time.Sleep(ttl)
		a.expect(t, false)
		if _, lost := a.told(); !errors.Is(lost, leadership.ErrNotRenewed) {
			t.Error(lost)
		}
		store.Fail(nil)
		time.Sleep(ttl)
		a.expect(t, true)
		if token, _ := a.told(); token <= first {
			t.Errorf("token %d after %d", token, first)
		}
		if err := store.Delete(t.Context(), "master.0", 0); err == nil {
			t.Error("a removal without its revision")
		}
	})
}
