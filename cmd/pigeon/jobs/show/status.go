// Package show has the verbs that show jobs: status, explain, logs, history.
package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/thrift/wire"
	"github.com/spf13/cobra"
)

// StatusCommand is the verb status.
func StatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status [JOB]...",
		Aliases: []string{"jobs"},
		GroupID: cli.GroupWatch,
		Short:   "Show where jobs stand",
		Long: `Shows where the named jobs stand, or the newest ones and which applications there
are. The beginning of an id names a job when no other id begins so. For a single job it
also shows the tasks that run, failed or were tried again, and the end of what failed tasks wrote to
standard error; JSON has the tasks of every job that is named. The exit status is 0 when
they were found, even if they failed.

The flags select jobs, which the frontends do: a list is short however many there are.
With --owner, the jobs of that owner and of those below it: team shows team/alice. --user
is who submitted them, where the cluster has that proven, else the last part of their
owner. In --name, * stands for any text. On a terminal, columns are cut to its width,
and with --watch the list to its height.`,
		Example: `  pigeon status
  pigeon status --state queued,running --owner team
  pigeon status --state failed --since 1h
  pigeon status --name 'nightly-*' --limit 5
  pigeon status --watch
  pigeon status JOB
  pigeon status JOB -o json`,
		ValidArgsFunction: connect.CompleteJobs,
	}
	output := cli.AddOutputFlag(cmd)
	which := JobQuery{}
	fs := cmd.Flags()
	fs.IntVar(&which.Limit, "limit", 20, "without a job: how many of the newest")
	fs.StringSliceVar(&which.Filter.States, "state", nil, fmt.Sprintf("without a job: those in this state, or in one of several: %s", stateNames()))
	connect.AddFilledText(fs, &which.Filter.User, "user", "give the name of a user", "without a job: those that this user submitted")
	connect.AddFilledText(fs, &which.Filter.Name, "name", "give a name", "without a job: those of this name; * stands for any text")
	fs.StringVar(&which.Filter.Class, "class", "", "without a job: short or long ones")
	connect.AddAgo(fs, &which.Filter.Since, "since", "without a job: those submitted within this time, as 90m, 24h or 7d (0 = at any time)")
	again := fs.BoolP("watch", "w", false, "refresh until Ctrl-C")
	every := fs.Duration("every", 2*time.Second, "with --watch: interval between refreshes")
	connect.AddFlags(cmd)
	// The setting of this name is for whom jobs run that are submitted; it selects none.
	connect.AddOwnerFlag(cmd)
	owner := fs.Lookup("owner")
	owner.Usage = "without a job: those of this owner and of owners below it"
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(strings.Split(stateNames(), ", "), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, jobs []string) error {
		if owner.Changed {
			which.Filter.Owner = owner.Value.String()
		}
		if err := which.check(cmd, jobs); err != nil {
			return cli.AsUsageError(err)
		}
		if *every < LeastEvery {
			return cli.AsUsageError(fmt.Errorf("--every %v is too often; use %v or more", *every, LeastEvery))
		}
		return connect.Ask(cmd, func(c *connect.Cluster) error {
			jobs, err := c.JobIDs(cmd.Context(), jobs)
			if err != nil {
				return err
			}
			s := shownStatus{cmd: cmd, c: c, jobs: jobs, which: which, output: *output, again: *again}
			if *again {
				return Redraw(cmd, *every, s.draw)
			}
			screen := ScreenOf(cmd)
			screen.Height = 0 // nothing is drawn over
			return s.draw(cmd.OutOrStdout(), screen)
		})
	}
	return cmd
}

func stateNames() string {
	var names []string
	for _, s := range api.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// JobQuery is which jobs are listed: the newest that match.
type JobQuery struct {
	Limit  int
	Filter api.JobFilter
}

func (s *JobQuery) check(cmd *cobra.Command, jobs []string) error {
	if s.Limit < 1 {
		return fmt.Errorf("--limit %d shows nothing; use 1 or more", s.Limit)
	}
	for _, name := range []string{"owner", "state", "user", "name", "class", "since"} {
		if cmd.Flags().Changed(name) && len(jobs) > 0 {
			return fmt.Errorf("both --%s and a job (%q) are given; leave one out", name, jobs[0])
		}
	}
	return s.Filter.Validate()
}

// selects reports whether some jobs are left out.
func (s *JobQuery) selects() bool {
	f := &s.Filter
	return len(f.States) > 0 || f.Owner+f.User+f.Name+f.Class != "" || f.Since > 0
}

// shownStatus is one run of the verb.
type shownStatus struct {
	cmd    *cobra.Command
	c      *connect.Cluster
	jobs   []string
	which  JobQuery
	output cli.OutputFormat
	again  bool // it is drawn until Ctrl-C
}

// draw prints it once.
func (s *shownStatus) draw(out io.Writer, screen cli.Terminal) error {
	list, err := s.list()
	notes := s.cmd.ErrOrStderr()
	if s.again { // the next picture would erase what is not a part of this one
		notes = out
	}
	switch {
	case s.output == cli.OutputJSON && len(s.jobs) > 0:
		return errors.Join(err, s.writeJobs(out, list))
	case s.output == cli.OutputJSON:
		return errors.Join(err, cli.WriteAllJSON(out, list))
	case len(s.jobs) == 1 && len(list) == 1:
		return errors.Join(err, s.drawJob(out, &list[0], screen))
	case len(list) > 0:
		err = errors.Join(err, printStatusTable(out, list, screen, time.Now()))
	case err == nil && s.which.selects():
		fmt.Fprintln(notes, "no such jobs; without its flags, 'pigeon status' shows those of everybody, 'pigeon status --help' what the flags take")
	case err == nil:
		fmt.Fprintln(notes, "no jobs; 'pigeon submit --sleep 1s --tasks 8' makes one")
	}
	if len(s.jobs) > 0 || s.which.selects() || err != nil && len(list) == 0 {
		return err // where no frontend has answered, asking again for applications would only take as long once more
	}
	if apps, unknown := applicationsOnNodes(s.cmd.Context(), s.c); unknown == nil { // 'pigeon nodes' reports why they are not known
		printApplications(out, apps)
	}
	return err
}

// list looks the jobs up, or lists the newest ones when none are named. It returns the jobs that
// were found together with an error about the others.
func (s *shownStatus) list() (list []api.Status, err error) {
	ctx := s.cmd.Context()
	for _, job := range s.jobs {
		_, status, missing := s.c.Find(ctx, job)
		if missing != nil {
			err = errors.Join(err, orApplication(ctx, s.c, job, missing))
			continue
		}
		list = append(list, status)
	}
	if len(s.jobs) > 0 {
		return list, err
	}
	err = s.c.Each(ctx, func(f *client.Frontend) error {
		some, failed := ListOf(ctx, s.c, f, &s.which)
		list = append(list, some...)
		return failed
	})
	slices.SortStableFunc(list, func(a, b api.Status) int {
		return cmp.Or(cmp.Compare(b.Submitted, a.Submitted), strings.Compare(a.Job, b.Job)) // the newest first
	})
	return list[:min(s.which.Limit, len(list))], err
}

// ListOf returns the newest selected jobs of a frontend, page by page. One of an earlier version
// does not select, so what it sends is looked at again.
func ListOf(ctx context.Context, c *connect.Cluster, f *client.Frontend, which *JobQuery) (list []api.Status, err error) {
	most := min(which.Limit, wire.MaxPage)
	for after := ""; len(list) < which.Limit; {
		call, cancel := c.WithTimeout(ctx)
		page, err := f.Query(call, most, after, which.Filter)
		cancel()
		if err != nil || len(page) == 0 {
			return list, err
		}
		full := len(page) == most
		after = page[len(page)-1].Job
		list = append(list, slices.DeleteFunc(page, func(j api.Status) bool { return !sinceUnset(which.Filter).Matches(&j, time.Time{}) })...)
		if !full {
			break
		}
	}
	return list, nil
}

// sinceUnset returns a filter without what only the clock of the frontend can tell.
func sinceUnset(f api.JobFilter) *api.JobFilter {
	f.Since = 0
	return &f
}
