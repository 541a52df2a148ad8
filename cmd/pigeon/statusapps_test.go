package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// Applications are asked for where a job may be one or a list has been printed, and not once more after a
// failure, which would wait as long again for a frontend that does not answer.
func TestStatusAsksForApplicationsOnce(t *testing.T) {
	t.Parallel()
	denied := &api.Error{Problem: api.Denied, Subject: "jobs", What: "nobody may not see them", Next: "give a token"}
	missing := &api.Error{Problem: api.NotFound, Subject: "job", What: "no such job", Next: "check the id"}
	for _, c := range []struct {
		args   string
		refuse error
		code   int
		nodes  int32
		want   string
	}{
		{"", nil, cli.ExitDone, 1, "applications on the nodes: etl"},
		{"", denied, cli.ExitFailed, 0, "nobody may not see them"},
		{"etl", missing, cli.ExitFailed, 1, "it is an application, and no job"},
		{"job", missing, cli.ExitFailed, 1, "no such job"},
		{"etl", denied, cli.ExitFailed, 0, "nobody may not see them"},
	} {
		f := startFake(t, &fakeFrontend{state: api.StateRunning, refuse: c.refuse})
		code, out, errs := pigeon(t, append([]string{"status", "--retry-for", "0s", "--frontend", f.address}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out+errs, c.want) || f.nodes.Load() != c.nodes {
			t.Errorf("status %s, refused by %v: exit status %d, nodes asked for %d times, want %d times and %q: %s%s", c.args, c.refuse, code, f.nodes.Load(), c.nodes, c.want, out, errs)
		}
	}
}
