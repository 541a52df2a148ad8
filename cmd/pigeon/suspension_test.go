package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
)

// A "pigeon dev" as it starts by itself, but for a shorter cutoff: tasks of which nothing is declared
// hold every slot, and a short job of six tasks, of which nothing is declared either, runs before any
// of them ends. Who looks sees which tasks are suspended since when and for whom, and that the first
// job is a long one. A job that may not be suspended is not.
func TestShortJobBehindUndeclaredLongOnes(t *testing.T) {
	t.Run("suspended", func(t *testing.T) {
		long, gate := behindLongOnes(t)
		succeed(t, "submit", "--tasks", "6", "--wait", "--", "true")
		await.Until(t, "the list of long jobs has it", func() bool {
			return strings.Contains(succeed(t, "status", "--class", "long", "-o", "json"), long)
		})
		other := succeed(t, "submit", "--class", "short", "--", "sh", "-c", gate)
		await.Until(t, "a long task is suspended for "+other, func() bool {
			return strings.Contains(succeed(t, "explain", long), ", for job "+other)
		})
		for verb, text := range map[string]string{"explain": succeed(t, "explain", long), "status": succeed(t, "status", long)} {
			if !strings.Contains(text, "suspended since ") || !strings.Contains(text, ", for job "+other+" of ") {
				t.Errorf("%s prints\n%s", verb, text)
			}
		}
		if text := succeed(t, "explain", long); !strings.Contains(text, "It is a long job: its tasks showed that") || !strings.Contains(text, "1 of them suspended") {
			t.Errorf("explain prints\n%s", text)
		}
		await.Until(t, "all slots are those of long tasks, that of the second job too by now", func() bool {
			use := ""
			for _, n := range lines[api.Node](t, succeed(t, "nodes", "-o", "json")) {
				use += n.SlotUse
			}
			return strings.Count(use, "l") == 16
		})
	})
	t.Run("no-suspend", func(t *testing.T) {
		long, _ := behindLongOnes(t, "--no-suspend")
		short := succeed(t, "submit", "--", "true")
		await.Until(t, "the job is found to be long", func() bool { return statusOfJob(t, long).Class == "long" })
		if s := statusOfJob(t, short); s.State != api.StateQueued {
			t.Errorf("a short job is %s", s.State)
		}
		if text := succeed(t, "explain", short); !strings.Contains(text, "may not be suspended") {
			t.Errorf("explain prints\n%s", text)
		}
	})
}

// behindLongOnes starts a dev and a job that holds all of its slots until a file is made at the end of the
// test. It returns the job, and the shell's words that wait for the file.
func behindLongOnes(t *testing.T, flags ...string) (job, gate string) {
	t.Helper()
	runDev(t, "--cutoff", "100ms")
	file := filepath.Join(t.TempDir(), "gate")
	t.Cleanup(func() { _ = os.WriteFile(file, nil, 0o600) })
	gate = "while ! [ -e " + file + " ]; do sleep 0.1; done"
	args := append([]string{"submit", "--tasks", "40"}, flags...)
	job = succeed(t, append(args, "--", "sh", "-c", gate)...)
	await.Until(t, "its tasks hold all slots", func() bool {
		busy := 0
		for _, n := range lines[api.Node](t, succeed(t, "nodes", "-o", "json")) {
			busy += n.Busy
		}
		return busy == 16
	})
	return job, gate
}
