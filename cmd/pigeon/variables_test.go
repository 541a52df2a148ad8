package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// testEnvFile is part of TestJobs: the program gets the values, and nothing else shows them.
func testEnvFile(t *testing.T) {
	const secret = "correct-horse-battery"
	path := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(path, []byte("PASSWORD="+secret+"\nWHO=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTHER_PASSWORD", secret)
	t.Setenv("NOT_NAMED", "of the daemon too")
	args := []string{"--env-file", path, "--env", "OTHER_PASSWORD", "--env", "WHO=flag"}
	code, id, errs := program(t, slices.Concat([]string{"submit", "--wait"}, args, []string{"--", "sh", "-c", `echo "$PASSWORD $OTHER_PASSWORD $WHO ${NOT_NAMED-none}"; exit 3`})...)
	if id = strings.TrimSpace(id); code != cli.ExitFailed {
		t.Fatalf("%d %s", code, errs)
	}
	if got, want := succeed(t, "logs", id), secret+" "+secret+" flag none"; got != want {
		t.Errorf("the program has %q, want %q", got, want)
	}
	shown := errs
	for _, verb := range [][]string{{"status", id}, {"status", id, "-o", "json"}, {"explain", id}, {"explain", id, "-o", "json"}, {"status"}} {
		shown += succeed(t, verb...)
	}
	if strings.Contains(shown, secret) {
		t.Errorf("the value is shown: %s", shown)
	}
	if code, _, errs := program(t, "run", "--env-file", path+"-none", "--", "true"); code != cli.ExitUsage || !strings.Contains(errs, "--env-file") {
		t.Errorf("%d %s", code, errs)
	}
}
