package files_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// reads counts the calls of a watcher and what the file had at the last one.
type reads struct {
	mu    sync.Mutex
	calls int
	last  string
}

func (r *reads) read(path string) {
	data, err := os.ReadFile(path)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	r.last = string(data)
	if err != nil {
		r.last = "no file"
	}
}

func (r *reads) get() (int, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls, r.last
}

// TestWatch: a file is read at the start, when its content has changed, by whatever means,
// when it is removed and comes back, and on Reload; and not when only its time changes.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.yaml")
	write(t, path, "one")
	r := &reads{}
	w := files.NewWatcher(path, time.Millisecond, func() { r.read(path) })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	defer running.Wait()
	defer cancel()
	seen := func(want string) {
		t.Helper()
		await.Until(t, "the file is read as "+want, func() bool { _, last := r.get(); return last == want })
	}
	seen("one")
	write(t, path, "two") // the same length
	seen("two")
	write(t, filepath.Join(dir, "next"), "three")
	if err := os.Rename(filepath.Join(dir, "next"), path); err != nil {
		t.Fatal(err)
	}
	seen("three")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	seen("no file")
	write(t, path, "four")
	seen("four")
	before, _ := r.get()
	w.Reload()
	await.Until(t, "it is read when asked", func() bool { calls, _ := r.get(); return calls > before })
	if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	before, _ = r.get()
	write(t, filepath.Join(dir, "next"), "five") // a file that is renamed is never seen half written
	if err := os.Rename(filepath.Join(dir, "next"), path); err != nil {
		t.Fatal(err)
	}
	seen("five")
	if calls, _ := r.get(); calls != before+1 {
		t.Errorf("%d reads for one change", calls-before)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
