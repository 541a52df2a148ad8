package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// Each query tries a frontend that does not answer for a while, as one of which a standby is about
// to lead.
func TestQueriesTryAgain(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"shares", "status", "nodes", "top --once", "events", "history", "whoami", "explain JOB", "cancel JOB", "files JOB"} {
		code, out, errs := pigeon(t, append(strings.Fields(verb), "--frontend", "127.0.0.1:1", "--retry-for", "100ms")...)
		if code != cli.ExitFailed || out != "" || !strings.Contains(errs, "frontend 127.0.0.1:1 does not answer; trying 127.0.0.1:1") {
			t.Errorf("%s: status %d, %s%s", verb, code, out, errs)
		}
	}
}
