package logs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What an attempt of an earlier run that still writes has written long ago is not dropped before it is
// known that it still writes; nor is it afterwards.
func TestQuietAttemptOfAnEarlierRun(t *testing.T) {
	first, c := open(t, Config{})
	runs, ended := write(t, first, attempt(0, 1), 10), write(t, first, attempt(1, 1), 10)
	must(t, first.Close())
	long := c.now.Add(-2 * time.Hour)
	for _, f := range []Files{runs, ended} {
		for _, path := range []string{f.Stdout, f.Stderr, f.Folder} {
			must(t, os.Chtimes(path, long, long))
		}
	}
	s, _ := open(t, Config{Root: first.cfg.Root, Former: true})
	sweep(t, s)
	if !exists(runs.Folder) || !exists(runs.Stdout) || s.Pending() {
		t.Error("dropped while the attempt may run")
	}
	s.Continue(attempt(0, 1))
	s.Continued()
	if !s.Pending() {
		t.Error("the other one is not due to be measured")
	}
	sweep(t, s)
	if !exists(runs.Folder) || !exists(runs.Stdout) || exists(ended.Folder) || exists(ended.Stdout) {
		t.Error("the one that runs was dropped, or the other one stays")
	}
}

// The retention of an attempt begins with its end, also when the node monitor is started again: what
// it has written last may have been written long before.
func TestRetentionFromTheEndOfAnEarlierRun(t *testing.T) {
	for name, c := range map[string]struct {
		keeps     func(f Files) string // what it leaves
		continued bool
	}{
		"output":            {func(f Files) string { return f.Stdout }, false},
		"error output":      {func(f Files) string { return f.Stderr }, false},
		"file":              {func(f Files) string { return filepath.Join(f.Folder, "result") }, false},
		"taken over before": {func(f Files) string { return f.Stdout }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := open(t, Config{})
			end := clock.now
			clock.now = end.Add(-2 * time.Hour)
			f, err := begin(s, attempt(0, 1))
			must(t, errors.Join(err, os.Mkdir(f.Folder, 0o700), os.WriteFile(c.keeps(f), nil, 0o600)))
			for _, path := range []string{c.keeps(f), f.Folder} {
				must(t, os.Chtimes(path, clock.now, clock.now))
			}
			if c.continued {
				s.Continue(attempt(0, 1))
			}
			clock.now = end
			s.End(attempt(0, 1), false)
			sweep(t, s)
			must(t, s.Close())
			next, later := open(t, Config{Root: s.cfg.Root})
			later.now = end.Add(59 * time.Minute)
			sweep(t, next)
			if !exists(c.keeps(f)) {
				t.Error("dropped before its retention was over")
			}
			later.now = end.Add(time.Hour)
			sweep(t, next)
			if exists(c.keeps(f)) {
				t.Error("kept after its retention")
			}
		})
	}
}
