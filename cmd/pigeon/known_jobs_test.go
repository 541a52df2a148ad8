package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// TestJobsThatHaveEnded: verbs that meet a job which has ended, or was known before, say so.
func TestJobsThatHaveEnded(t *testing.T) {
	runDev(t)
	argv := []string{"run", "--key", "k", "--", "cat"}
	with := func(input string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), argv, strings.NewReader(input), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	if code, out, errs := with("one"); code != cli.ExitDone || out != "one" || strings.Contains(errs, "known already") {
		t.Errorf("the first time: status %d, %q, %s", code, out, errs)
	}
	if code, out, errs := with("two"); code != cli.ExitDone || out != "one" || !strings.Contains(errs, "job k is known already") || !strings.Contains(errs, "this standard input may be ignored") {
		t.Errorf("the second time: status %d, %q, %s", code, out, errs)
	}

	// Nobody reads the output of a job that has completed before.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	var stderr bytes.Buffer
	if code := run(t.Context(), argv, strings.NewReader("one"), w, &stderr); code != cli.ExitBrokenPipe || !strings.Contains(stderr.String(), "job k had ended before: completed") {
		t.Errorf("a closed pipe: status %d, %s", code, stderr.String())
	}
	_ = w.Close()

	// A task that will never start is not said to start later.
	first := succeed(t, "submit", "--sleep", "1h")
	second := succeed(t, "submit", "--after", first, "--", "true")
	if code, _, errs := program(t, "logs", second); code != cli.ExitFailed || !strings.Contains(errs, "it has not started yet") {
		t.Errorf("before: status %d, %s", code, errs)
	}
	succeed(t, "cancel", first)
	program(t, "logs", "-f", second) // until it has ended
	if code, _, errs := program(t, "logs", second); code != cli.ExitFailed || !strings.Contains(errs, "its job has ended (failed)") || strings.Contains(errs, "try again") {
		t.Errorf("afterwards: status %d, %s", code, errs)
	}
}
