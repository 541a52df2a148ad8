package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

func TestBarAndCounts(t *testing.T) {
	for _, c := range []struct {
		s    api.Status
		want string
	}{
		{api.Status{Tasks: 4}, "[....................] 0 of 4 done, 0 running"},
		{api.Status{Tasks: 4, Completed: 1, Failed: 1, Running: 1}, "[##########>>>>>.....] 2 of 4 done, 1 running, 1 failed"},
		{api.Status{Tasks: 3, Completed: 3}, "[####################] 3 of 3 done, 0 running"},
		{api.Status{Tasks: 1, Completed: 1, Running: 1}, "[####################] 1 of 1 done, 1 running"}, // the master's count is older
	} {
		if got := bar(&c.s) + " " + counts(&c.s); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The reasons why a run job waits are those of explain, without its sentences about the job itself.
func TestWaitReasons(t *testing.T) {
	e := &api.Explanation{ClassReason: "its estimate is below the cutoff", Why: []string{
		"0 of 1 task has ended, 0 run, 1 waits in queues.", "Group 0: no worker is idle.",
		"It is a short job: its estimate is below the cutoff.", "It runs for team/alice.",
	}}
	if got := waitReasons(e); got != "Group 0: no worker is idle." {
		t.Errorf("%q", got)
	}
}

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
