package keys

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// memory is a store in memory.
type memory struct {
	mu       sync.Mutex
	revision uint64
	homes    map[string]Home
	at       map[string]uint64
	down     error
}

func newMemory() *memory { return &memory{homes: map[string]Home{}, at: map[string]uint64{}} }

func (m *memory) Get(_ context.Context, key string) (Home, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.homes[key], m.at[key], m.down
}

func (m *memory) Put(_ context.Context, key string, h Home, after uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return m.down
	}
	if m.at[key] != after {
		return ErrConflict
	}
	m.revision++
	m.homes[key], m.at[key] = h, m.revision
	return nil
}

// lapse removes a key.
func (m *memory) lapse(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.homes, key)
	delete(m.at, key)
}

func keeperOf(name string, m *memory, unfinished map[string]bool) *Keeper {
	return New(Options{
		Self: Home{Frontend: name, Address: name + ":1"}, Store: m,
		Address:    func(_ context.Context, h Home) string { return h.Address },
		Unfinished: func(key string) bool { return unfinished[key] },
	})
}

func take(t *testing.T, k *Keeper, key string) {
	t.Helper()
	if err := k.Take(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	k.Hold(key)
}

// The keys of unfinished jobs are written again, including one that lapsed, a last time when the
// job has ended, and not when they belong to another frontend.
func TestKeysOfUnfinishedJobsAreRenewed(t *testing.T) {
	m, unfinished := newMemory(), map[string]bool{"a": true, "b": true, "restored": true, "lost": true}
	k := keeperOf("f", m, unfinished)
	take(t, k, "a")
	take(t, k, "b")
	take(t, k, "lost")
	m.homes["restored"], m.at["restored"] = Home{Frontend: "f"}, 77
	k.Hold("restored")
	m.lapse("b")
	m.homes["lost"], m.at["lost"] = Home{Frontend: "g"}, 99
	before := m.at["a"]
	k.Renew(t.Context(), slog.New(slog.DiscardHandler))
	if m.at["a"] == before || m.homes["b"].Frontend != "f" || m.at["restored"] == 77 || m.at["lost"] != 99 {
		t.Errorf("%v %v", m.homes, m.at)
	}
	delete(unfinished, "a")
	for i := range 2 {
		before = m.at["a"]
		k.Renew(t.Context(), slog.New(slog.DiscardHandler))
		if written := m.at["a"] != before; written != (i == 0) {
			t.Errorf("renewal %d after its end: written %v", i, written)
		}
	}
	if len(k.held) != 2 {
		t.Errorf("held %v", k.held)
	}
}

// Every refusal names the home, or what does not answer; the home takes its key again.
func TestWhoHasAKey(t *testing.T) {
	m := newMemory()
	f, g := keeperOf("f", m, nil), keeperOf("g", m, nil)
	take(t, f, "k")
	for _, err := range []error{g.Take(t.Context(), "k"), g.Find(t.Context(), "k")} {
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Problem != api.NotReady || e.Address != "f:1" || !strings.Contains(e.What, `"f" at f:1`) || e.Subject == "" || e.Tried == "" || e.Next == "" {
			t.Error(err)
		}
	}
	before := m.at["k"]
	take(t, f, "k")
	if m.homes["k"].Frontend != "f" || m.at["k"] == before {
		t.Errorf("its home is %+v at %d; it could lapse before its first renewal", m.homes["k"], m.at["k"])
	}
	for _, err := range []error{f.Find(t.Context(), "k"), g.Find(t.Context(), "nobody's")} {
		if err != nil {
			t.Error(err)
		}
	}
	m.down = errors.New("no servers")
	err := g.Take(t.Context(), "other")
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.NotReady || !strings.Contains(e.What, "no servers") {
		t.Errorf("without the store: %v", err)
	}
}

// A record of an earlier version is read. That version reads no name in one of this version, and so asks
// nobody who could answer that the job is unknown while it is being accepted.
func TestRecordsOfTheEarlierVersion(t *testing.T) {
	h, err := decode([]byte(`{"frontend":"f","address":"f:1"}`))
	if want := (Home{"f", "f:1"}); err != nil || h != want {
		t.Errorf("%+v, %v", h, err)
	}
	value, err := json.Marshal(h)
	if err != nil || strings.Contains(string(value), `"frontend"`) {
		t.Errorf("%s, %v", value, err)
	}
	if again, err := decode(value); err != nil || again != h {
		t.Errorf("%+v, %v", again, err)
	}
}
