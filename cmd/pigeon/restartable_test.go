package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
)

// TestRestartable: under pigeon-x the first task of a job declared long is tried as
// a short one, and suspends the task that has the only slot. After a cutoff it makes
// room again: it is stopped and starts anew if it was submitted as --restartable, and
// else continues as it is.
func TestRestartable(t *testing.T) {
	for name, c := range map[string]struct {
		flags    []string
		attempts int
	}{
		"restartable": {[]string{"--restartable"}, 2}, "not": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			runDev(t, "--policy", "pigeon-x", "--groups", "1", "--nodes", "1", "--slots", "1", "--cutoff", "100ms")
			dir := t.TempDir()
			until := func(gate string) string {
				return "while ! [ -e " + filepath.Join(dir, gate) + " ]; do sleep 0.01; done"
			}
			open := func(gate string) {
				if err := os.WriteFile(filepath.Join(dir, gate), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			first := succeed(t, "submit", "--class", "short", "--", "sh", "-c", until("first"))
			tried := succeed(t, append(append([]string{"submit", "--class", "long"}, c.flags...),
				"--", "sh", "-c", "touch "+filepath.Join(dir, "began")+"; sleep 0.5; "+until("tried"))...)
			await.Until(t, "the long job runs over the first one, for a cutoff", func() bool {
				_, err := os.Stat(filepath.Join(dir, "began")) // an attempt may be stopped before it has created it
				return statusOfJob(t, tried).Attempts == c.attempts && (c.attempts > 1 || err == nil)
			})
			open("first") // which is suspended, or resumed
			open("tried")
			for _, job := range []string{first, tried} {
				await.Until(t, job+" ends", func() bool { return statusOfJob(t, job).State == api.StateCompleted })
			}
			if s := statusOfJob(t, tried); s.Attempts != c.attempts {
				t.Errorf("want %d attempts: %+v", c.attempts, s)
			}
		})
	}
}
