package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// When the disk of the caller is full, the fault is not told as one of the job's output.
func TestLogsToAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device is full here: %v", err)
	}
	t.Cleanup(func() { _ = full.Close() })
	f := startFake(t, &fakeFrontend{state: api.StateCompleted})
	var errs bytes.Buffer
	code := run(t.Context(), []string{"logs", "-f", "JOB", "--frontend", f.address}, strings.NewReader(""), full, &errs)
	if want := "pigeon: output could not be written: write /dev/full: no space left on device\n"; code != cli.ExitFailed || errs.String() != want {
		t.Errorf("status %d, %q, want %q", code, errs.String(), want)
	}
}
