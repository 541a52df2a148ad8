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
