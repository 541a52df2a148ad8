package keys

import (
	"context"
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

func (m *memory) Get(_ context.Context, key string) (Home, uint64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, found := m.homes[key]
	return h, m.at[key], found, m.down
}

func (m *memory) Put(_ context.Context, key string, h Home, after uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return 0, m.down
	}
	if m.at[key] != after {
		return 0, ErrConflict
	}
	m.revision++
	m.homes[key], m.at[key] = h, m.revision
	return m.revision, nil
}

// lapse removes a key.
func (m *memory) lapse(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.homes, key)
	delete(m.at, key)
}

func keeperOf(name string, m *memory, unfinished map[string]bool, answer Knowledge) *Keeper {
	return New(Options{
		Self: Home{Frontend: name, Address: name + ":1"}, Store: m,
		Ask:        func(_ context.Context, h Home, _ string) (Knowledge, string) { return answer, h.Address },
		Unfinished: func(key string) bool { return unfinished[key] },
	})
}

func take(t *testing.T, k *Keeper, key string) {
	t.Helper()
	accepted, err := k.Take(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if !k.Accepting(key) {
		t.Errorf("%s is not being accepted", key)
	}
	accepted(true)
	if k.Accepting(key) {
		t.Errorf("%s is still being accepted", key)
	}
}

// The keys of unfinished jobs are written again, including one that lapsed, a last time when the
// job has ended, and not when they belong to another frontend.
func TestKeysOfUnfinishedJobsAreRenewed(t *testing.T) {
	m, unfinished := newMemory(), map[string]bool{"a": true, "b": true, "restored": true, "lost": true}
	k := keeperOf("f", m, unfinished, Silent)
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

// Every refusal names the frontend that has the job, or what does not answer.
func TestWhoHasAKey(t *testing.T) {
	m := newMemory()
	take(t, keeperOf("f", m, nil, Silent), "k")
	for answer, problem := range map[Knowledge]api.Problem{Knows: api.NotFound, Silent: api.NotReady} {
		g := keeperOf("g", m, nil, answer)
		_, taken := g.Take(t.Context(), "k")
		for _, err := range []error{taken, g.Find(t.Context(), "k")} {
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Problem != problem || e.Address != "f:1" || !strings.Contains(e.What, `"f" at f:1`) || e.Subject == "" || e.Tried == "" || e.Next == "" {
				t.Errorf("%v: %v", answer, err)
			}
		}
		if g.Accepting("k") {
			t.Error("a key that was refused is being accepted")
		}
	}
	g := keeperOf("g", m, nil, Ignorant)
	if err := g.Find(t.Context(), "k"); err != nil {
		t.Errorf("a key without a job: %v", err)
	}
	if err := g.Find(t.Context(), "nobody's"); err != nil {
		t.Errorf("a key of nobody: %v", err)
	}
	take(t, g, "k")
	if m.homes["k"].Frontend != "g" {
		t.Errorf("its home is %+v", m.homes["k"])
	}
	m.down = errors.New("no servers")
	_, err := g.Take(t.Context(), "other")
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.NotReady || !strings.Contains(e.What, "no servers") {
		t.Errorf("without the store: %v", err)
	}
}
