package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// applications are those that have something of theirs on a node: executors, or a
// backend. They submit no jobs that could be listed.
func (c *clusterClient) applications(ctx context.Context) ([]string, error) {
	states, err := c.groups(ctx)
	var found []string
	for i := range states {
		for k := range states[i].Nodes {
			found = append(found, states[i].Nodes[k].Apps...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), err
}

// printApplications names the applications below a list of jobs, if there are any.
func printApplications(out io.Writer, apps []string) {
	if len(apps) > 0 {
		fmt.Fprintf(out, "applications on the nodes: %s; 'pigeon explain APPLICATION' shows what one has and waits for\n", strings.Join(apps, ", "))
	}
}

// orApplication returns a better error for a job that is missing since it is an
// application.
func (c *clusterClient) orApplication(ctx context.Context, job string, missing error) error {
	if apps, err := c.applications(ctx); err != nil || !slices.Contains(apps, job) {
		return missing
	}
	return &api.Error{
		Problem: api.Invalid, What: "it is an application, and no job", Subject: "application " + job,
		Tried: "looking it up among the jobs", Next: "'pigeon explain " + job + "' shows what it has and waits for",
	}
}
