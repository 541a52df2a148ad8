package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// TestRestartable: under pigeon-x the first task of a job declared long is tried as
// a short one, and suspends what has the only slot. After a cutoff it makes room
// again: it is stopped and starts anew if it was submitted as --restartable, and else
// goes on as it is.
func TestRestartable(t *testing.T) {
	for name, c := range map[string]struct {
		flags  []string
		starts int
	}{
		"restartable": {[]string{"--restartable"}, 2}, "not": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			runDev(t, "--policy", "pigeon-x", "--groups", "1", "--nodes", "1", "--slots", "1", "--cutoff", "100ms")
			dir := t.TempDir()
			until := func(gate string) string { return "while ! [ -e " + filepath.Join(dir, gate) + " ]; do sleep 0.01; done" }
			open := func(gate string) {
				if err := os.WriteFile(filepath.Join(dir, gate), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			first := succeed(t, "submit", "--class", "short", "--", "sh", "-c", until("first"))
			tried := succeed(t, append(append([]string{"submit", "--class", "long"}, c.flags...),
				"--", "sh", "-c", "echo >> "+filepath.Join(dir, "starts")+"; sleep 0.5; "+until("tried"))...)
			started := func() int {
				text, _ := os.ReadFile(filepath.Join(dir, "starts")) // not before the first start
				return strings.Count(string(text), "\n")
			}
			waitFor(t, "the long job starts over the first one", func() bool { return started() > 0 })
			open("first") // which is suspended, and ends when it has the slot again
			waitFor(t, "its last start", func() bool { return started() == c.starts })
			open("tried")
			for _, job := range []string{first, tried} {
				waitFor(t, job+" ends", func() bool { return statusOfJob(t, job).State == api.StateCompleted })
			}
			if s := statusOfJob(t, tried); s.Attempts != c.starts || started() != c.starts {
				t.Errorf("it started %d times: %+v", started(), s)
			}
		})
	}
}
