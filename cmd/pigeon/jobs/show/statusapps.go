package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// applicationsOnNodes returns those that have executors or a backend of their own on a
// node, without the built-in backends (""). They submit no jobs that could be
// listed.
func applicationsOnNodes(ctx context.Context, c *connect.Cluster) ([]string, error) {
	states, err := c.Groups(ctx)
	var found []string
	for i := range states {
		for k := range states[i].Nodes {
			found = append(found, states[i].Nodes[k].Apps...)
		}
	}
	return NamedOnce(found), err
}

// NamedOnce returns the names in order, each once, without the empty one.
func NamedOnce(apps []string) []string {
	slices.Sort(apps)
	apps = slices.Compact(apps)
	return slices.DeleteFunc(apps, func(app string) bool { return app == "" })
}

// printApplications names the applications below a list of jobs, if there are any.
func printApplications(out io.Writer, apps []string) {
	if len(apps) > 0 {
		fmt.Fprintf(out, "applications on the nodes: %s; 'pigeon explain APPLICATION' shows what one has and waits for\n", cli.Printable(strings.Join(apps, ", ")))
	}
}

// orApplication returns a better error for a job that is missing since it is an
// application. Any other error stays as it is.
func orApplication(ctx context.Context, c *connect.Cluster, job string, missing error) error {
	if e, ok := errors.AsType[*api.Error](missing); !ok || e.Problem != api.NotFound {
		return missing
	}
	if apps, err := applicationsOnNodes(ctx, c); err != nil || !slices.Contains(apps, job) {
		return missing
	}
	return &api.Error{
		Problem: api.Invalid, What: "it is an application, and no job", Subject: "application " + job,
		Tried: "looking it up among the jobs", Next: "'pigeon explain " + job + "' shows what it has and waits for",
	}
}
