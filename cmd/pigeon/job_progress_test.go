package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// run reports that its job waits behind another one and why, and continues when the job may start.
func TestRunSaysWhyItWaits(t *testing.T) {
	runDev(t, "--groups", "1", "--nodes", "1", "--slots", "1", "--reserved", "0")
	occupied := &signalWriter{written: make(chan struct{})}
	ended := make(chan int, 2)
	go func() {
		ended <- run(t.Context(), []string{"run", "--key", "first", "--no-suspend", "--", "sh", "-c", "echo on; exec sleep 600"}, strings.NewReader(""), occupied, io.Discard)
	}()
	<-occupied.written
	told := &signalWriter{written: make(chan struct{})}
	var errs, out bytes.Buffer
	go func() {
		ended <- run(t.Context(), []string{"run", "--key", "second", "--", "echo", "done"}, strings.NewReader(""), &out, io.MultiWriter(&errs, told))
	}()
	select {
	case <-told.written:
	case <-time.After(2 * time.Minute):
		t.Fatal("run does not report why it waits")
	}
	succeed(t, "cancel", "first")
	if a, b := <-ended, <-ended; a+b != cli.ExitDone+cli.ExitFailed {
		t.Errorf("exit statuses %d and %d, %s", a, b, errs.String())
	}
	if got := errs.String(); !strings.HasPrefix(got, "pigeon: job second is queued: ") || !strings.Contains(got, "Group 0") || !strings.Contains(got, "\npigeon: job second is ") {
		t.Errorf("it says %q", got)
	}
	if out.String() != "done\n" {
		t.Errorf("stdout %q", out.String())
	}
}
