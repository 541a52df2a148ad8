package logs

import (
	"os"
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
