package executors

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Of the outputs that are kept, those of the user who has most make room, the oldest first, and none stays
// longer than it is to. What else an executor has left is not kept.
func TestKeptOutputsMakeRoom(t *testing.T) {
	const mb = 1 << 20
	now := time.Now()
	for name, c := range map[string]struct {
		limit     int64
		retention time.Duration
		want      string
	}{
		"room for all": {100 * mb, time.Hour, "a1 a2 a3 b1"},
		"room for few": {5 * mb, time.Hour, "a3 b1"},
		"too old":      {100 * mb, 150 * time.Second, "a3 b1"},
	} {
		k := &kept{root: filepath.Join(t.TempDir(), "ended"), retention: c.retention, limit: c.limit, log: slog.New(slog.DiscardHandler)}
		for i, app := range []string{"a1", "a2", "a3", "b1"} {
			folder := filepath.Join(t.TempDir(), ".over-1")
			if err := os.MkdirAll(filepath.Join(folder, "1", "local"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := writeOf(folder, app, app[:1]); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/etc/passwd", filepath.Join(folder, "1", "stderr")); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"stdout", "stdout.1", "local/shuffle"} {
				if err := os.WriteFile(filepath.Join(folder, "1", file), []byte(strings.Repeat("x", mb)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			k.take(folder)
			ended := now.Add(time.Duration(i-4) * time.Minute)
			if err := os.Chtimes(filepath.Join(k.root, app, ofFile), ended, ended); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadDir(filepath.Join(k.root, app, "1"))
			if err != nil || len(left) != 2 || left[0].Name() != "stdout" || left[1].Name() != "stdout.1" {
				t.Errorf("%s: kept of the executor are %v (%v)", name, left, err)
			}
		}
		k.trim(now)
		var left []string
		entries, err := os.ReadDir(k.root)
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if got := strings.Join(slices.Sorted(slices.Values(left)), " "); got != c.want || err != nil {
			t.Errorf("%s: left are %s (%v), want %s", name, got, err, c.want)
		}
	}
}
