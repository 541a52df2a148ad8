package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/frontends"
	"github.com/pigeon-sched/pigeon/thrift/wire"
	"github.com/spf13/cobra"
)

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status [JOB]...",
		GroupID: groupJobs,
		Short:   "Show where jobs stand",
		Long: `Shows where the named jobs stand, or the newest ones and which applications there
are. The exit status is 0 when they could be looked up, also if they failed. With
--owner, only the jobs of that owner and of those below it: team shows team/alice.`,
		Example: `  pigeon status
  pigeon status --owner team
  pigeon status JOB -o json
  pigeon status --limit 5`,
		ValidArgsFunction: completeJobs,
	}
	output := addOutput(cmd)
	limit := cmd.Flags().Int("limit", 20, "without a job: how many of the newest")
	addClientFlags(cmd)
	// The setting of this name is for whom jobs run that are submitted; it selects none.
	addOwnerFlag(cmd)
	owner := cmd.Flags().Lookup("owner")
	owner.Usage = "without a job: those of this owner and of owners below it"
	cmd.RunE = func(cmd *cobra.Command, jobs []string) error {
		which := selection{limit: *limit}
		if owner.Changed {
			which.owner = owner.Value.String()
		}
		if err := which.check(jobs); err != nil {
			return wrongUse(err)
		}
		return withCluster(cmd, func(c *clusterClient) error { return showStatus(cmd, c, jobs, which, *output) })
	}
	return cmd
}

// selection is which jobs are listed: the newest of an owner and of those below it.
type selection struct {
	limit int
	owner string // "" for all
}

func (s selection) check(jobs []string) error {
	switch {
	case s.limit < 1:
		return fmt.Errorf("--limit %d shows nothing; use 1 or more", s.limit)
	case s.owner != "" && len(jobs) > 0:
		return fmt.Errorf("both --owner and a job (%q) are given; leave one out", jobs[0])
	}
	return api.CheckOwner(s.owner)
}

// of returns the jobs of a list that are selected.
func (s selection) of(list []api.Status) []api.Status {
	return slices.DeleteFunc(list, func(j api.Status) bool { return !api.IsBelow(j.Owner, s.owner) })
}

func showStatus(cmd *cobra.Command, c *clusterClient, jobs []string, which selection, output outputFormat) error {
	list, err := statusOf(cmd.Context(), c, jobs, which)
	if output == outputJSON {
		return errors.Join(err, writeAllJSON(cmd.OutOrStdout(), list))
	}
	switch {
	case len(jobs) == 1 && len(list) == 1:
		return errors.Join(err, printStatus(cmd.OutOrStdout(), &list[0]))
	case len(list) > 0:
		err = errors.Join(err, printStatusTable(cmd.OutOrStdout(), list))
	case err == nil && which.owner != "":
		fmt.Fprintf(cmd.ErrOrStderr(), "no jobs of owner %s\n", which.owner)
	case err == nil:
		fmt.Fprintln(cmd.ErrOrStderr(), "no jobs; 'pigeon submit --sleep 1s --tasks 8' makes one")
	}
	if len(jobs) > 0 {
		return err
	}
	if apps, unknown := c.applications(cmd.Context()); unknown == nil { // 'pigeon nodes' reports why they are not known
		printApplications(cmd.OutOrStdout(), apps)
	}
	return err
}

// statusOf looks the jobs up, or lists the newest ones when none are named. It returns
// the jobs that were found together with an error about the others.
func statusOf(ctx context.Context, c *clusterClient, jobs []string, which selection) (list []api.Status, err error) {
	for _, job := range jobs {
		_, s, missing := c.Find(ctx, job)
		if missing != nil {
			err = errors.Join(err, c.orApplication(ctx, job, missing))
			continue
		}
		list = append(list, s)
	}
	if len(jobs) > 0 {
		return list, err
	}
	err = c.Each(ctx, func(f *frontends.Frontend) error {
		some, failed := listOf(ctx, c, f, which)
		list = append(list, some...)
		return failed
	})
	slices.SortStableFunc(list, func(a, b api.Status) int {
		return cmp.Or(cmp.Compare(b.Submitted, a.Submitted), strings.Compare(a.Job, b.Job)) // the newest first
	})
	return list[:min(which.limit, len(list))], err
}

// listOf returns the newest selected jobs of a frontend, page by page.
func listOf(ctx context.Context, c *clusterClient, f *frontends.Frontend, which selection) (list []api.Status, err error) {
	most := wire.MaxPage
	if which.owner == "" {
		most = min(which.limit, wire.MaxPage)
	}
	for after := ""; len(list) < which.limit; {
		call, cancel := c.withTimeout(ctx)
		page, err := f.List(call, most, after)
		cancel()
		if err != nil || len(page) == 0 {
			return list, err
		}
		full := len(page) == wire.MaxPage
		after = page[len(page)-1].Job
		list = append(list, which.of(page)...)
		if !full {
			break
		}
	}
	return list, nil
}

func printStatus(out io.Writer, s *api.Status) error {
	w := newTable(out)
	fmt.Fprintf(w, "job\t%s\n", s.Job)
	if s.App != "" {
		fmt.Fprintf(w, "application\t%s\n", s.App)
	}
	if s.Owner != "" {
		fmt.Fprintf(w, "owner\t%s\n", s.Owner)
	}
	if s.Priority != 0 {
		fmt.Fprintf(w, "priority\t%d\n", s.Priority)
	}
	if s.Name != "" {
		fmt.Fprintf(w, "name\t%s\n", s.Name)
	}
	fmt.Fprintf(w, "state\t%s\nclass\t%s\n", s.State, s.Class)
	fmt.Fprintf(w, "tasks\t%d: %d running, %d completed, %d failed\nattempts\t%d\n", s.Tasks, s.Running, s.Completed, s.Failed, s.Attempts)
	fmt.Fprintf(w, "submitted\t%s\n", clockTime(s.Submitted))
	if s.Ended > 0 {
		fmt.Fprintf(w, "ended\t%s, after %.3f s\n", clockTime(s.Ended), s.Seconds)
	}
	if s.Reason != "" {
		fmt.Fprintf(w, "reason\t%s\n", s.Reason)
	}
	return w.Flush()
}

func printStatusTable(out io.Writer, list []api.Status) error {
	w := newTable(out)
	fmt.Fprintln(w, "JOB\tOWNER\tSTATE\tCLASS\tTASKS\tRUNNING\tCOMPLETED\tFAILED\tSUBMITTED\tTOOK")
	for i := range list {
		s := &list[i]
		took := "-"
		if s.State.Ended() {
			took = fmt.Sprintf("%.3f s", s.Seconds)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", s.Job, cmp.Or(s.Owner, "-"), s.State, s.Class, s.Tasks, s.Running, s.Completed, s.Failed, clockTime(s.Submitted), took)
	}
	return w.Flush()
}

// clockTime shows Unix seconds in the reader's time zone.
func clockTime(seconds float64) string {
	return time.UnixMicro(int64(seconds * 1e6)).Format("2006-01-02 15:04:05")
}
