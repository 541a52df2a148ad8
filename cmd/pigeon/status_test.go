package main

import (
	"bytes"
	"context"
	"os/user"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/show"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// TestStatus: selections, the beginnings of ids, one job in detail, and --watch.
func TestStatus(t *testing.T) {
	runDev(t, "--policy", "pigeon", // no task of a long job is stopped as a trial
		"--frontends", "2", "--groups", "1", "--nodes", "1", "--slots", "2")
	for _, key := range []string{"nightly-1", "nightly-2"} {
		succeed(t, "submit", "--key", key, "--owner", "team/alice", "--wait", "--", "true")
	}
	code, _, errs := program(t, "submit", "--key", "broken-one", "--owner", "team/bob", "--wait", "--", "sh", "-c", "echo first >&2; printf 'it\\tis \\033[31mred\\n' >&2; exit 7")
	if code != cli.ExitFailed {
		t.Fatalf("%d %s", code, errs)
	}
	succeed(t, "submit", "--key", "long-sleep", "--class", "long", "--sleep", "1h", "--tasks", "3")
	await.Until(t, "it runs", func() bool { return statusOfJob(t, "long-sleep").State == api.StateRunning })

	caller, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"", "long-sleep broken-one nightly-2 nightly-1"},
		{"--limit 2", "long-sleep broken-one"},
		{"--state failed", "broken-one"},
		{"--state running,failed", "long-sleep broken-one"},
		{"--state queued", ""},
		{"--owner team", "broken-one nightly-2 nightly-1"},
		{"--user " + caller.Username + " --owner team", "broken-one nightly-2 nightly-1"}, // the kernel has proven it
		{"--user nobody-of-that-name", ""},
		{"--class long", "long-sleep"},
		{"--since 1ns", ""},
		{"--since 24h --limit 1", "long-sleep"}, {"--since 7d --limit 1", "long-sleep"},
	} {
		var got []string
		for _, s := range lines[api.Status](t, succeed(t, append([]string{"status", "-o", "json"}, strings.Fields(c.args)...)...)) {
			got = append(got, s.Job)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("status %s: %v, want %s", c.args, got, c.want)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"--state runnign", `"runnign"`}, {"--class big", `"big"`}, {"--limit 0", "--limit 0"}, {"--every 1ms", "--every 1ms"},
		{"--state failed JOB", "leave one out"}, {"nightly", "nightly-1"}, {"--owner /", "/"},
	} {
		if code, _, errs := program(t, append([]string{"status"}, strings.Fields(c.args)...)...); code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("status %s: %d %s", c.args, code, errs)
		}
	}
	t.Run("one job", func(t *testing.T) {
		text := succeed(t, "status", "brok") // the beginning of its id
		for _, want := range []string{"broken-one", "sh -c", "TASK  ATTEMPT", "stderr of task 0, attempt 1", "\n  first\n", "it  is ?[31mred", "pigeon logs broken-one --task 0 --stderr"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Errorf("%q", text)
		}
		if text := succeed(t, "explain", "broken"); !strings.HasPrefix(text, "job broken-one failed\n") {
			t.Errorf("%s", text)
		}
		if text := succeed(t, "status", "long-sleep"); !strings.Contains(text, "sleep 1h0m0s") || strings.Contains(text, "stderr") {
			t.Errorf("%s", text)
		}
	})
	t.Run("tasks in JSON", func(t *testing.T) {
		list := lines[show.JobLine](t, succeed(t, "status", "broken-one", "nightly-1", "-o", "json"))
		if tasks := list[0].TaskList; list[0].Job != "broken-one" || len(tasks) != 1 || tasks[0].State != "failed" || tasks[0].Attempt != 1 || tasks[0].Exit != 7 || tasks[0].Node == "" {
			t.Errorf("%+v", list[0])
		}
		if list[1].Job != "nightly-1" || list[1].TaskList != nil {
			t.Errorf("%+v", list[1])
		}
		await.Until(t, "what runs is listed", func() bool {
			tasks := lines[show.JobLine](t, succeed(t, "status", "long-sleep", "-o", "json"))[0].TaskList
			return len(tasks) > 0 && tasks[0].State == "running" && tasks[0].Node != ""
		})
	})
	t.Run("watch", testWatch)
	t.Run("the beginning of an id", func(t *testing.T) {
		if code, _, errs := program(t, "cancel", "lon"); code != cli.ExitFailed || !strings.Contains(errs, "no such job") {
			t.Errorf("three characters are too few: %d %s", code, errs)
		}
		if code, _, errs := program(t, "logs", "nightly-"); code != cli.ExitUsage || !strings.Contains(errs, "nightly-1 (completed)") || !strings.Contains(errs, "nightly-2") {
			t.Errorf("%d %s", code, errs)
		}
		if text := succeed(t, "cancel", "long-"); !strings.Contains(text, "long-sleep is cancelled") {
			t.Error(text)
		}
	})
}

// testWatch ends with Ctrl-C after the second picture.
func testWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &pictures{want: 2, seen: cancel}
	var errs bytes.Buffer
	if code := run(ctx, []string{"status", "--watch", "--every", "100ms"}, strings.NewReader(""), out, &errs); code != cli.ExitInterrupted || errs.Len() > 0 {
		t.Errorf("%d %s", code, errs.String())
	}
	if n := strings.Count(out.String(), "long-sleep"); n < 2 {
		t.Errorf("%d pictures:\n%s", n, out.String())
	}
	// Where no job is like that, each picture says so: what is on standard error is erased with the screen.
	ctx, cancel = context.WithCancel(t.Context())
	out = &pictures{want: 2, seen: cancel}
	if code := run(ctx, []string{"status", "--watch", "--every", "100ms", "--state", "held"}, strings.NewReader(""), out, &errs); code != cli.ExitInterrupted || errs.Len() > 0 {
		t.Errorf("%d %s", code, errs.String())
	}
	if n := strings.Count(out.String(), "no such jobs; "); n != 2 {
		t.Errorf("%d of 2 pictures say that there are no such jobs:\n%s", n, out.String())
	}
	// A verb that only asks says why it has no answer.
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	for _, verb := range []string{"status", "nodes", "explain long-sleep"} {
		errs.Reset()
		if code := run(ctx, strings.Fields(verb), strings.NewReader(""), &bytes.Buffer{}, &errs); code != cli.ExitInterrupted || errs.String() != "interrupted\n" {
			t.Errorf("%s: %d %q", verb, code, errs.String())
		}
	}
}

// pictures calls seen after some writes.
type pictures struct {
	bytes.Buffer
	want int
	seen func()
}

func (p *pictures) Write(b []byte) (int, error) {
	if p.want--; p.want == 0 {
		p.seen()
	}
	return p.Buffer.Write(b)
}
