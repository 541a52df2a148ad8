package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// No two openings that served have the same incarnation, even when the process died during
// one: before the incarnation was on the disk nothing was served, and once it is, the next
// opening takes the one after it, although the mark of the folder is older.
func TestIncarnationsNeverRepeat(t *testing.T) {
	dir, served := t.TempDir(), map[uint64]bool{}
	serve := func(want uint64) {
		var begun uint64
		j, rep, _ := open(t, dir, Options{NoSync: true, Life: func(life uint64, _ sched.JobScope) error { begun = life; return nil }})
		must(t, j.Close())
		if begun != rep.Incarnation || rep.Incarnation != want || served[want] {
			t.Fatalf("incarnation %d, Life was called with %d, want %d; served before: %v", rep.Incarnation, begun, want, served)
		}
		served[want] = true
	}
	serve(1)
	mark, err := os.ReadFile(filepath.Join(dir, formatFile))
	must(t, err)
	stopped := errors.New("stopped")
	if err := refusal(dir, Options{Life: func(uint64, sched.JobScope) error { return stopped }}); !errors.Is(err, stopped) {
		t.Fatalf("got %v", err)
	}
	serve(2)
	must(t, os.WriteFile(filepath.Join(dir, formatFile), mark, 0o644)) // as if it had died before it wrote the mark
	serve(3)
}

// A journal keeps the scope of its job ids from its first opening on, and no other one has it.
func TestScopes(t *testing.T) {
	dir := t.TempDir()
	scope := func(dir string) sched.JobScope {
		var begun sched.JobScope
		j, rep, _ := open(t, dir, Options{Frontend: "f", NoSync: true, Life: func(_ uint64, s sched.JobScope) error { begun = s; return nil }})
		must(t, j.Close())
		if begun != rep.Scope {
			t.Fatalf("Life was called with scope %q, the report has %q", begun, rep.Scope)
		}
		return begun
	}
	first := scope(dir)
	if again := scope(dir); again != first || len(first) < 16 {
		t.Errorf("scope %q after %q", again, first)
	}
	if other := scope(t.TempDir()); other == first {
		t.Errorf("two journals have scope %q", first)
	}
}
