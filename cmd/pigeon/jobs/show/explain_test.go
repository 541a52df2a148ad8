package show

import (
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestExplainTasks(t *testing.T) {
	var out strings.Builder
	err := printTasks(&out, []api.TaskStatus{
		{Task: 0, Attempt: 1, State: "completed", Node: "a", Seconds: 1.5},
		{Task: 1, Attempt: 1, State: "running", Node: "a"},
		{Task: 2, Attempt: 2, State: "failed", Node: "b", Seconds: 0.25, Exit: 3, Reason: "exit status 3"},
		{Task: 3, Attempt: 1, State: "queued"},
		{Task: 4, Attempt: 1, State: "running", Node: "a", Seconds: 2.5},
		{Task: 5, Attempt: 1, State: "cancelled", Node: "a", Seconds: 0.5},
		{Task: 6, Attempt: 1, State: "failed", Node: "a", Reason: "its program was not found"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"TASK ATTEMPT STATE NODE ELAPSED EXIT REASON",
		"0 1 completed a 1.500 s 0",
		"1 1 running a - -",
		"2 2 failed b 0.250 s 3 exit status 3",
		"3 1 queued - -",
		"4 1 running a 2.500 s -",
		"5 1 cancelled a 0.500 s -",
		"6 1 failed a 0.000 s - its program was not found",
	}
	var got []string
	for line := range strings.Lines(strings.TrimSpace(out.String())) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExplanationThatCannotBeWritten(t *testing.T) {
	r, w := io.Pipe()
	_ = r.CloseWithError(syscall.ENOSPC)
	if err := printExplanation(w, &api.Explanation{Status: api.Status{Job: "j", State: api.StateCompleted}, Why: []string{"It completed."}}); err == nil {
		t.Error("what was explained is lost, without an error")
	}
}

// TestExplainedGroupsStayAligned: a group whose master cannot be reached leaves the columns of the others aligned.
func TestExplainedGroupsStayAligned(t *testing.T) {
	var out strings.Builder
	e := &api.Explanation{Groups: []api.GroupShare{{Group: 0, Reachable: true, AheadShort: 1_000_000}, {Group: 1}, {Group: 2, Reachable: true, Serving: 7}}}
	if err := printExplanation(&out, e); err != nil {
		t.Fatal(err)
	}
	aligned(t, out.String(), "SHORT QUEUE")
}

// aligned fails unless each of the last three lines of a text has a cell that begins where the
// heading does.
func aligned(t *testing.T, text, heading string) {
	t.Helper()
	list := strings.Split(strings.TrimRight(text, "\n"), "\n")
	head := list[len(list)-4]
	at := strings.Index(head, heading)
	for _, line := range list[len(list)-3:] {
		if at < 1 || len(line) <= at || line[at] == ' ' || line[at-1] != ' ' {
			t.Errorf("%q is not aligned in\n%s", line, text)
		}
	}
}
