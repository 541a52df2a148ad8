package connect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

const (
	// WholeID is the length of an id that a frontend makes, which needs no completing, and
	// leastPrefix the shortest part of an id that is taken for one.
	WholeID, leastPrefix = 26, 4
	// namedCandidates bounds the jobs that are named when a prefix fits several.
	namedCandidates = 5
)

// JobID returns the id of the only job whose id begins with the given text. The id of a job or
// the name of an application stays as it is, and so does a text that fits no listed job: the
// error of the call about it will say what is wrong.
func (c *Cluster) JobID(ctx context.Context, given string) (string, error) {
	if len(given) >= WholeID || len(given) < leastPrefix {
		return given, nil
	}
	var found []api.Status
	err := c.Each(ctx, func(f *client.Frontend) error {
		call, cancel := c.WithTimeout(ctx)
		defer cancel()
		filter := api.JobFilter{Prefix: given}
		list, err := f.Query(call, namedCandidates+1, "", filter)
		found = append(found, slices.DeleteFunc(list, func(s api.Status) bool { return !strings.HasPrefix(s.Job, given) })...)
		return err
	})
	if len(found) == 0 || slices.ContainsFunc(found, func(s api.Status) bool { return s.Job == given }) {
		return given, nil // the call about it meets the same error, and says more
	}
	if err != nil {
		return "", err // others may fit too
	}
	_, err = c.Of(ctx, given, func(ctx context.Context, f *client.Frontend) error {
		_, err := f.Explain(ctx, given)
		return err
	})
	switch {
	case !client.HasProblem(err, api.NotFound):
		return given, nil // it is known, or the call about it meets the same error
	case len(found) == 1:
		return found[0].Job, nil
	}
	return "", cli.AsUsageError(&api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("more than one job begins so: %s", candidates(found)), Subject: fmt.Sprintf("job %q", given),
		Tried: "looking for the only job whose id begins with that", Next: "give more of the id",
	})
}

// candidates names jobs, each with its state.
func candidates(list []api.Status) string {
	var names []string
	for _, s := range list[:min(len(list), namedCandidates)] {
		names = append(names, fmt.Sprintf("%s (%s)", cli.Printable(s.Job), s.State))
	}
	if len(list) > namedCandidates {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// JobIDs calls JobID for each text.
func (c *Cluster) JobIDs(ctx context.Context, given []string) ([]string, error) {
	ids := make([]string, len(given))
	for i := range given {
		var err error
		if ids[i], err = c.JobID(ctx, given[i]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
