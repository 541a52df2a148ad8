package nodes

import (
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func fields(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func sharedGroups() []api.GroupOwners {
	return []api.GroupOwners{
		{Group: 0, Reachable: true, Fair: true, Slots: 4, Owners: []api.OwnerShare{
			{Weight: 1, Entitled: 4, RunningShort: 3, RunningLong: 1, QueuedShort: 20, UsedShort: 12.34}, {Owner: "team", Weight: 2, Min: 0.1, Max: 0.5, Entitled: 2, RunningShort: 3, QueuedShort: 20, UsedShort: 12.34, LeadShort: 1.5},
			{Owner: "team/alice", Weight: 1, RunningShort: 3},
		}},
		{Group: 1},
		{Group: 2, Reachable: true, Fair: true, Slots: 2, Problem: "line 3: unknown key", ProblemSince: 1, Omitted: 1, Owners: []api.OwnerShare{{Weight: 1}, {Owner: "team", Weight: 2, Min: 0.1, Max: 0.5, RunningShort: 1, LeadShort: 0.25}}},
	}
}

func TestPrintShares(t *testing.T) {
	page := SharesPage{Quotas: []api.OwnerQuotas{
		{Frontend: "frontend-0", Quotas: []api.QuotaState{{Owner: "", Tasks: 3, MaxTasks: 50}, {Owner: "team", Tasks: 7, MaxTasks: 100, Bytes: 5}}},
		{Frontend: "frontend-1", Problem: "line 9: alias", ProblemSince: 1, Quotas: []api.QuotaState{{Owner: "team", Bytes: 9, MaxBytes: 10}}},
	}}
	page.sum(sharedGroups())
	var out strings.Builder
	if err := page.print(&out); err != nil {
		t.Fatal(err)
	}
	text := fields(out.String())
	for _, want := range []string{
		"OWNER WEIGHT MIN MAX ENTITLED RUNNING WAITING USED AHEAD BY\nall 1 - - 4.0 3 + 1 20 + 0 12.3 + 0.0 s 0.0 + 0.0 s\nteam 2 10% 50% 2.0 4 + 0 20 + 0 12.3 + 0.0 s 1.8 + 0.0 s\nalice 1",
		"QUOTA OF FRONTEND TASKS BYTES\n(nobody in particular) frontend-0 3 of 50 0\nteam frontend-0 7 of 100 5\nteam frontend-1 0 9 of 10\n",
		"the master of group 1 cannot be reached", "the master of group 2 could not read the shares again since 19", ": line 3: unknown key", "does not list 1 more owner", "frontend-1 could not read the quotas again since", "line 9: alias",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if page.Groups != 3 || page.Reachable != 2 || page.Slots != 6 {
		t.Errorf("%+v", page)
	}
}

func TestPrintGroupShares(t *testing.T) {
	var out strings.Builder
	if err := printGroupShares(&out, append(sharedGroups(), api.GroupOwners{Group: 3, Reachable: true})); err != nil {
		t.Fatal(err)
	}
	text := fields(out.String())
	for _, want := range []string{"group 0: 4 slots\nOWNER", "group 1: its master cannot be reached\ngroup 2: 2 slots\nOWNER", "1 more owner is not listed\nits master could not read the shares", "group 3: its policy does not share slots"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}

func TestSharesNobodyAnswers(t *testing.T) {
	if reachable(sharedGroups()) != nil {
		t.Error("two groups answered")
	}
	var e *api.Error
	if err := reachable([]api.GroupOwners{{}, {Group: 1}}); !errors.As(err, &e) || e.Problem != api.NotReady || e.Next == "" || !strings.Contains(e.Subject, "2 groups") {
		t.Errorf("%v", err)
	}
}
