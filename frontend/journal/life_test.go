package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// No two openings that served have the same incarnation, even when the process died during
// one: before the incarnation was on the disk nothing was served, and once it is, the next
// opening takes the one after it, although the mark of the folder is older.
func TestIncarnationsNeverRepeat(t *testing.T) {
	dir, served := t.TempDir(), map[uint64]bool{}
	serve := func(want uint64) {
		var begun uint64
		j, rep, _ := open(t, dir, Options{NoSync: true, Life: func(life uint64) error { begun = life; return nil }})
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
	if err := refusal(dir, Options{Life: func(uint64) error { return stopped }}); !errors.Is(err, stopped) {
		t.Fatalf("got %v", err)
	}
	serve(2)
	must(t, os.WriteFile(filepath.Join(dir, formatFile), mark, 0o644)) // as if it had died before it wrote the mark
	serve(3)
}
