package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// testTasksAgain is part of TestJobs: the failed tasks of an array run again with their indices, and
// those of other jobs with their numbers; outputs of several tasks are printed and collected.
func testTasksAgain(t *testing.T) {
	at := t.TempDir()
	t.Chdir(at)
	const odd = `echo at $PIGEON_ARRAY_INDEX; exit $((PIGEON_ARRAY_INDEX % 2))`
	array := []string{"--array", "1,3,6-8", "--", "sh", "-c", odd}
	code, id, errs := program(t, append([]string{"submit", "--wait", "--output", "out/%a-%n.txt"}, array...)...)
	if id = strings.TrimSpace(id); code != cli.ExitFailed {
		t.Fatal(code, errs)
	}
	for name, want := range map[string]string{"1-0": "at 1\n", "3-1": "at 3\n", "8-4": "at 8\n"} {
		if got, err := os.ReadFile(filepath.Join("out", name+".txt")); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got := succeed(t, "logs", id, "--task", "1-2,4"); got != "1: at 3\n2: at 6\n4: at 8" {
		t.Errorf("of some tasks: %q", got)
	}
	if got := succeed(t, "logs", id, "--task", "all"); strings.Count(got, "\n") != 4 || !strings.HasPrefix(got, "0: at 1\n1: at 3\n") {
		t.Errorf("of all: %q", got)
	}
	if code, _, errs := program(t, "logs", id, "--task", "1,5"); code != cli.ExitUsage || !strings.Contains(errs, "has tasks 0 to 4, not 5") {
		t.Error(code, errs)
	}
	code, again, errs := program(t, append([]string{"submit", "--wait", "--failed-of", id}, array...)...)
	again = strings.TrimSpace(again)
	if got := succeed(t, "logs", again, "--task", "all"); code != cli.ExitFailed || got != "0: at 1\n1: at 3\n2: at 7" || !strings.Contains(errs, "3 tasks of job "+id+" again, of 5: 0-1,3") {
		t.Errorf("the failed ones again: %d, %q, %s", code, got, errs)
	}
	_, numbers, _ := program(t, "submit", "--wait", "--tasks", "4", "--", "sh", "-c", "exit $((PIGEON_TASK / 2))")
	_, rest, errs := program(t, "submit", "--wait", "--failed-of", strings.TrimSpace(numbers), "--", "sh", "-c", "echo I am $PIGEON_TASK${PIGEON_ARRAY_INDEX-}")
	if got := succeed(t, "logs", strings.TrimSpace(rest), "--task", "all"); got != "0: I am 2\n1: I am 3" {
		t.Errorf("by numbers: %q, %s", got, errs)
	}
	for want, args := range map[string][]string{
		"there is nothing to run again":  {"--failed-of", strings.TrimSpace(rest), "--", "true"},
		"needs the command line":         {"--failed-of", id},
		"has 5 tasks, and this":          {"--failed-of", id, "--tasks", "7", "--", "true"},
		"give --wait too":                {"--output", "out_%a.txt", "--", "true"},
		"the job has 2 tasks; name one":  {"--wait", "--tasks", "2", "--output", "out.txt", "--", "true"},
		"%x stands for nothing":          {"--wait", "--output", "out_%x", "--", "true"},
		"the formats are text and json,": {"--output", "jsno", "--", "true"},
	} {
		if code, _, errs := program(t, append([]string{"submit"}, args...)...); code == cli.ExitDone || !strings.Contains(errs, want) {
			t.Errorf("%q: %d, %s", args, code, errs)
		}
	}
}
