package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// failsOnce is a program whose first attempt writes a line, waits for the file "seen" and fails, and whose
// second one writes another line and exits with 3.
func failsOnce(dir string) string {
	return fmt.Sprintf(`cd %s; if [ ! -e begun ]; then touch begun; echo first; while [ ! -e seen ]; do sleep 0.02; done; exit 1; fi; echo second attempt; exit 3`, dir)
}

// The outputs of two attempts are not mixed: run and logs -f pass the whole output of the second one
// on, and say where it begins.
func TestOutputsOfTwoAttempts(t *testing.T) {
	for _, verb := range []string{"run", "logs"} {
		t.Run(verb, func(t *testing.T) {
			runDev(t)
			dir := t.TempDir()
			arguments := []string{"run", "--retries", "1", "--", "sh", "-c", failsOnce(dir)}
			want := 3
			if verb == "logs" {
				job := succeed(t, "submit", "--retries", "1", "--", "sh", "-c", failsOnce(dir))
				arguments, want = []string{"logs", "-f", job}, cli.ExitFailed
			}
			cmd := exec.Command(os.Args[0], arguments...)
			var errs strings.Builder
			cmd.Stderr = &errs
			out := filepath.Join(dir, "out")
			f, err := os.Create(out)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }() // read by its name
			if cmd.Stdout = f; cmd.Start() != nil {
				t.Fatal("it does not start")
			}
			read := func() string {
				text, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			await.Until(t, "the first line is passed on", func() bool { return read() == "first\n" })
			if err := os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its status is compared below
			if got := cmd.ProcessState.ExitCode(); got != want || read() != "first\nsecond attempt\n" {
				t.Errorf("status %d, want %d; %q", got, want, read())
			}
			if !strings.Contains(errs.String(), "was started again: the stdout of attempt 2 follows, from its beginning") {
				t.Errorf("standard error: %s", errs.String())
			}
		})
	}
}

// A failing program whose output is gone with its node does not look as if it had written nothing.
func TestRunReportsLostOutputOfAFailure(t *testing.T) {
	c := newInputCluster(t, "n1")
	r := c.run(nil, "--", "sh", "-c", fmt.Sprintf("echo begun; echo $$ > %s; while [ ! -e %s ]; do sleep 0.02; done; exit 3", c.path("pid"), c.path("go")))
	r.Args = append(r.Args[:2:2], append([]string{"--retry-for", "1s"}, r.Args[2:]...)...)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the program runs", func() bool { _, err := os.Stat(c.path("pid")); return err == nil })
	jobs := lines[api.Status](t, succeed(t, "status", "-o", "json"))
	if len(jobs) != 1 {
		t.Fatalf("%+v", jobs)
	}
	// The client is stopped while the program ends and its node is lost.
	if err := r.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.path("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the job has failed", func() bool {
		s := lines[api.Status](t, succeed(t, "status", jobs[0].Job, "-o", "json"))
		return s[0].State == api.StateFailed
	})
	c.nodes["n1"].signal(t, syscall.SIGKILL)
	_ = c.nodes["n1"].wait() // it was killed
	if err := r.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	_ = r.Wait() // its status is compared below
	if got := r.ProcessState.ExitCode(); got != cli.ExitFailed || !strings.Contains(r.errs.String(), "its output could not be read") {
		t.Errorf("status %d: %q, %s", got, r.out.String(), r.errs.String())
	}
}
