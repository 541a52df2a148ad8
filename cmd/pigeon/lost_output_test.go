package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// A report that its disk did not take is not one that was made: a script that keeps the report of
// doctor, say, would take an empty one for a machine without faults.
func TestLostOutput(t *testing.T) {
	dir := t.TempDir() + "/pki"
	if code := run(t.Context(), []string{"pki", "init", "--dir", dir}, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}); code != cli.ExitDone {
		t.Fatalf("pki init: status %d", code)
	}
	if code := run(t.Context(), []string{"pki", "issue", "--dir", dir, "--role", "node", "--name", "n1"}, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}); code != cli.ExitDone {
		t.Fatalf("pki issue: status %d", code)
	}
	for _, args := range [][]string{
		{"doctor"}, {"doctor", "-o", "json"}, {"version"}, {"config", "roles"}, {"config", "check", "nats", "../../configs/nats.yaml"},
		{"pki", "renew", "--dir", dir}, {}, {"--help"}, {"help"}, {"--version"}, {"help", "run"}, {"run", "--help"}, {"cluster", "-h"}, {"pki"}, {"token"},
	} {
		t.Run(strings.Join(args[:min(2, len(args))], "-"), func(t *testing.T) {
			var errs bytes.Buffer
			if code := run(t.Context(), args, strings.NewReader(""), &fullDisk{}, &errs); code != cli.ExitFailed || !strings.Contains(errs.String(), "no space left") {
				t.Errorf("status %d, %s", code, &errs)
			}
		})
	}
}

// What a task that succeeded has left running is said where its user looks.
func TestWhatASuccessfulTaskLeftIsSaid(t *testing.T) {
	runDev(t, "--nodes", "1", "--groups", "1", "--log-level", "error")
	_, _, waited := program(t, "submit", "--wait", "--key", "left", "--", "sh", "-c", `env -i setsid -f sh -c ': > left; exec sleep 1000'; while [ ! -e left ]; do sleep 0.01; done`)
	const want = "task 0 succeeded; a process that it had left running in a session of its own was killed"
	for _, text := range []string{waited, succeed(t, "explain", "left"), succeed(t, "status", "left")} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
}
