package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// The user who interrupts a verb while its frontend is silent is told no fault of the frontend: the
// exit status is 130, and a verb that changes something says that it may have been done.
func TestInterruptedVerbs(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const asked = "interrupted\n"
	const ordered = "interrupted; it may have been done all the same: the same command again makes sure\n"
	for verb, want := range map[string]string{
		"status": asked, "nodes": asked, "shares": asked, "events": asked, "history": asked, "explain JOB": asked, "logs JOB": asked, "whoami": asked, "doctor": asked,
		"history --export " + t.TempDir() + "/jobs.csv": "interrupted; ",
		"cancel JOB": ordered, "node drain n": ordered, "node drain n --wait": ordered, "node resume n": ordered, "node forget n": ordered,
	} {
		var out, errs bytes.Buffer
		code := run(ctx, append(strings.Fields(verb), "--frontend", silent.Addr().String()), strings.NewReader(""), &out, &errs)
		if code != cli.ExitInterrupted || !strings.HasPrefix(errs.String(), want) || strings.Contains(errs.String(), "nothing to do") {
			t.Errorf("%s: status %d, %q, want %d and %q", verb, code, errs.String(), cli.ExitInterrupted, want)
		}
	}
}

// A simulation that its user interrupts ends with 130 as well.
func TestInterruptedSimulation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, line := range []string{"sim --trace gen:ec2,jobs=20000"} {
		var out, errs bytes.Buffer
		if code := run(ctx, strings.Fields(line), strings.NewReader(""), &out, &errs); code != cli.ExitInterrupted || !strings.HasPrefix(errs.String(), "interrupted") {
			t.Errorf("%s: status %d, %q, want %d", line, code, errs.String(), cli.ExitInterrupted)
		}
	}
}
