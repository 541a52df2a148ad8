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
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

// HistoryCommand is the verb history.
func HistoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history",
		GroupID: cli.GroupWatch,
		Short:   "Show the resources that ended jobs used",
		Long: `Sums up the jobs that ended at all frontends of the cluster: how many, for how many
seconds their attempts had a slot, how long they waited for their first task, and how
many failed. Users see their own jobs, operators all. docs/history.md says what each
column means. --jobs lists the jobs, and --export writes them to a file.`,
		Example: `  pigeon history
  pigeon history --since 24h --by owner,day
  pigeon history --jobs --state failed --owner team
  pigeon history --export jobs.jsonl --since 2026-01-01`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	var o historyOptions
	fs := cmd.Flags()
	fs.StringVar(&o.since, "since", "", "jobs that ended since: a duration ago (90m, 24h, 7d), a day (2026-01-31) or an instant (2026-01-31T15:04:05Z)")
	fs.StringVar(&o.until, "until", "", "jobs that ended before: as for --since")
	fs.StringSliceVar(&o.by, "by", []string{api.ByOwner, api.ByClass}, "sum up by these: "+strings.Join(api.HistoryKeys(), ", "))
	fs.StringVar(&o.query.Class, "class", "", "jobs of this class: short or long")
	connect.AddFilledText(fs, &o.query.Job, "job", "give the id of a job", "the job of this id; implies --jobs")
	connect.AddFilledText(fs, &o.query.Name, "name", "give a name", "jobs of this name")
	fs.StringVar(&o.query.State, "state", "", "jobs with this end: completed, failed or cancelled")
	fs.BoolVar(&o.jobs, "jobs", false, "list the jobs, the last to end first")
	fs.IntVar(&o.limit, "limit", 20, "with --jobs: how many")
	fs.StringVar(&o.export, "export", "", "write the jobs to this file, as CSV (.csv) or JSON lines (.jsonl)")
	connect.AddFlags(cmd)
	connect.AddOwnerFlag(cmd) // the setting of this name is the owner of submitted jobs; it selects none
	owner := cmd.Flags().Lookup("owner")
	owner.Usage = "jobs of this owner and of owners below it"
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if owner.Changed {
			o.query.Owner = owner.Value.String()
		}
		if err := o.check(time.Now(), fs.Changed("by"), fs.Changed("limit")); err != nil {
			return cli.AsUsageError(err)
		}
		report := "interrupted"
		if o.export != "" {
			report += "; " + o.export + " was not written"
		}
		return connect.UnlessInterrupted(cmd, report, connect.WithCluster(cmd, func(c *connect.Cluster) error { return o.show(cmd, c, *output) }))
	}
	return cmd
}

// historyOptions are the flags of pigeon history.
type historyOptions struct {
	since, until string
	by           []string
	jobs         bool
	limit        int
	export       string
	query        api.HistoryQuery
}

// check completes the query, and refuses invalid flags.
func (o *historyOptions) check(now time.Time, summed, limited bool) (err error) {
	q := &o.query
	o.jobs = o.jobs || q.Job != ""
	for i, key := range o.by {
		if slices.Contains(o.by[:i], key) {
			return fmt.Errorf("--by names %s twice; name it once", key)
		}
		if !slices.Contains(api.HistoryKeys(), key) {
			return fmt.Errorf("--by %s: jobs are summed up by %s", key, strings.Join(api.HistoryKeys(), ", "))
		}
	}
	switch {
	case o.limit < 1:
		return fmt.Errorf("--limit %d shows nothing; use 1 or more", o.limit)
	case summed && (o.jobs || o.export != ""):
		return errors.New("--by sums jobs up, and --jobs, --job and --export are about single jobs; leave one out")
	case limited && (!o.jobs || o.export != ""):
		return errors.New("--limit is how many jobs --jobs lists; sums and --export are of all jobs: leave --limit out, or use --jobs")
	case len(o.by) == 0:
		return errors.New("--by names nothing; leave it out, or name " + strings.Join(api.HistoryKeys(), ", "))
	case q.Class != "" && q.Class != "short" && q.Class != "long":
		return fmt.Errorf("--class %q: the classes are short and long", q.Class)
	case q.State != "" && !api.State(q.State).Ended():
		return fmt.Errorf("--state %q: a job ends completed, failed or cancelled", q.State)
	}
	if err := api.CheckOwner(q.Owner); err != nil {
		return err
	}
	if o.export != "" {
		if _, err := formatOf(o.export); err != nil {
			return err
		}
	}
	if q.Since, err = instant("--since", o.since, now); err != nil {
		return err
	}
	if q.Before, err = instant("--until", o.until, now); err != nil {
		return err
	}
	if q.Before > 0 && q.Since >= q.Before {
		return fmt.Errorf("--since %s is not before --until %s", o.since, o.until)
	}
	return nil
}

// instant reads an instant in Unix seconds: a duration before now, a day, or an instant.
func instant(flag, text string, now time.Time) (float64, error) {
	if text == "" {
		return 0, nil
	}
	ago, err := connect.ParseAgo(text)
	at := now.Add(-ago)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02 15:04"} {
		if err != nil {
			at, err = time.ParseInLocation(layout, text, time.Local) //nolint:gosmopolitan // a day is the user's
		}
	}
	if err != nil || ago < 0 || at.Unix() < 0 || ago > 100*365*24*time.Hour {
		return 0, fmt.Errorf("%s %q: give a duration ago (90m, 24h, 7d), a day (2026-01-31) or an instant (2026-01-31T15:04:05Z)", flag, text)
	}
	return float64(at.UnixMicro()) / 1e6, nil
}

func (o *historyOptions) show(cmd *cobra.Command, c *connect.Cluster, output cli.OutputFormat) error {
	said := &historyNotes{w: cmd.ErrOrStderr(), seen: map[string]bool{}}
	switch {
	case o.export != "":
		return o.exportTo(cmd.Context(), c, said)
	case o.jobs:
		list, err := o.listJobs(cmd.Context(), c, said)
		if output == cli.OutputJSON {
			return errors.Join(err, cli.WriteAllJSON(cmd.OutOrStdout(), list))
		}
		said.none(err, len(list))
		return errors.Join(err, printUsages(cmd.OutOrStdout(), list))
	}
	lines, all, err := o.sums(cmd.Context(), c, said)
	if output == cli.OutputJSON {
		return errors.Join(err, cli.WriteAllJSON(cmd.OutOrStdout(), lines))
	}
	said.none(err, len(lines))
	return errors.Join(err, printSums(cmd.OutOrStdout(), o.by, lines, all))
}

// historyNotes reports once for each frontend what is missing in its answer.
type historyNotes struct {
	w    io.Writer
	seen map[string]bool
}

func (n *historyNotes) about(p *api.HistoryPage) {
	if n.seen[p.Frontend] {
		return
	}
	n.seen[p.Frontend] = true
	if p.Problem != "" {
		fmt.Fprintf(n.w, "pigeon: %s keeps no history of jobs: %s\n", p.Frontend, cli.Printable(p.Problem))
	}
	if p.Dropped > 0 {
		fmt.Fprintf(n.w, "pigeon: the history of %s lacks %s that ended since it was started: too many waited to be written, or the disk failed; its log and the metric history_dropped_total say more\n", p.Frontend, sched.Count(int(p.Dropped), "job", "jobs"))
	}
	if p.Removed > 0 {
		fmt.Fprintf(n.w, "pigeon: %s has reached history_limit, %s: those that ended before %s are removed\n", p.Frontend, sched.Count(int(p.Limit), "job", "jobs"), clockTime(p.Oldest))
	}
}

// none reports that nothing was found.
func (n *historyNotes) none(err error, found int) {
	if err == nil && found == 0 {
		fmt.Fprintln(n.w, "no such job has ended; unfinished ones are shown by 'pigeon status'")
	}
}

// listJobs returns the jobs that ended last, the last first.
func (o *historyOptions) listJobs(ctx context.Context, c *connect.Cluster, said *historyNotes) (list []api.JobUsage, err error) {
	err = c.Each(ctx, func(f *client.Frontend) error {
		q := o.query
		q.Descending, q.Limit = true, min(o.limit, api.HistoryPageJobs)
		return eachPage(ctx, c, f, q, func(p *api.HistoryPage) bool {
			said.about(p)
			list = append(list, p.Jobs...)
			return true
		}, o.limit)
	})
	slices.SortFunc(list, func(a, b api.JobUsage) int {
		return cmp.Or(cmp.Compare(b.Ended, a.Ended), strings.Compare(a.Job, b.Job))
	})
	return list[:min(o.limit, len(list))], err
}

// eachPage calls visit with the pages of a frontend until it returns false, or after most jobs;
// 0 for all.
func eachPage(ctx context.Context, c *connect.Cluster, f *client.Frontend, q api.HistoryQuery, visit func(*api.HistoryPage) bool, most int) error {
	for seen := 0; ; {
		call, cancel := c.WithTimeout(ctx)
		p, err := f.History(call, q)
		cancel()
		if err != nil {
			return err
		}
		seen += len(p.Jobs)
		if !visit(&p) || !p.More || len(p.Jobs) == 0 || most > 0 && seen >= most {
			return nil
		}
		last := &p.Jobs[len(p.Jobs)-1]
		q.AfterJob, q.AfterEnded, q.AfterSubmitted = last.Job, last.Ended, last.Submitted
	}
}

// UsageLine is a line of pigeon history: jobs that are equal in the fields by which they are summed
// up.
type UsageLine struct {
	Owner       *string  `json:"owner,omitempty"`   // for whom they ran, as far as they are summed up by it; the next four likewise
	Class       string   `json:"class,omitempty"`   // short or long
	Day         string   `json:"day,omitempty"`     // of their end, in UTC
	Name        *string  `json:"name,omitempty"`    // what the work is
	State       string   `json:"state,omitempty"`   // completed, failed or cancelled
	Jobs        int64    `json:"jobs"`              // how many
	Completed   int64    `json:"completed"`         // jobs that completed
	Failed      int64    `json:"failed"`            // jobs that failed
	Cancelled   int64    `json:"cancelled"`         // jobs that were cancelled
	Tasks       int64    `json:"tasks"`             // of these jobs
	FailedTasks int64    `json:"failed_tasks"`      // tasks that failed
	Attempts    int64    `json:"attempts"`          // launches that a worker accepted
	Again       int64    `json:"again"`             // attempts that were followed by another one
	SlotSeconds float64  `json:"slot_seconds"`      // how long the attempts whose results count had a slot
	LostSeconds float64  `json:"lost_slot_seconds"` // of attempts whose results do not count
	Share       float64  `json:"share"`             // of the slot-seconds of all lines, 0 to 1
	WaitMean    *float64 `json:"wait_mean"`         // seconds from a job's submission to the start of its first task; null where none started
	WaitP50     *float64 `json:"wait_p50"`          // likewise, of half of the jobs at most; to 1 %
	WaitP99     *float64 `json:"wait_p99"`          // likewise, of 99 % of the jobs
	LongestWait float64  `json:"longest_wait"`      // of any task that started

	keys []string
}

// sums returns the lines of all frontends together and their sum.
func (o *historyOptions) sums(ctx context.Context, c *connect.Cluster, said *historyNotes) (lines []UsageLine, all UsageLine, err error) {
	byKeys := map[string]*api.UsageSum{}
	err = c.Each(ctx, func(f *client.Frontend) error {
		q := o.query
		q.By = o.by
		call, cancel := c.WithTimeout(ctx)
		defer cancel()
		p, err := f.History(call, q)
		if err != nil {
			return err
		}
		said.about(&p)
		for i := range p.Sums {
			key := strings.Join(p.Sums[i].Keys, "\x00")
			if byKeys[key] == nil {
				byKeys[key] = &api.UsageSum{Keys: p.Sums[i].Keys}
			}
			byKeys[key].Add(&p.Sums[i])
		}
		return nil
	})
	total := api.UsageSum{Keys: make([]string, len(o.by))}
	for _, s := range byKeys { // sorted below
		total.Add(s)
	}
	for _, s := range byKeys { // sorted below
		lines = append(lines, usageLineOf(o.by, s, total.SlotSeconds))
	}
	slices.SortFunc(lines, func(a, b UsageLine) int {
		if o.by[0] == api.ByDay {
			return slices.Compare(a.keys, b.keys)
		}
		return cmp.Or(cmp.Compare(b.SlotSeconds, a.SlotSeconds), slices.Compare(a.keys, b.keys))
	})
	return lines, usageLineOf(nil, &total, total.SlotSeconds), err
}

func usageLineOf(by []string, s *api.UsageSum, all float64) UsageLine {
	l := UsageLine{
		Jobs: s.Jobs, Completed: s.Completed, Failed: s.Failed, Cancelled: s.Cancelled, Tasks: s.Tasks, FailedTasks: s.FailedTasks,
		Attempts: s.Attempts, Again: s.Again, SlotSeconds: s.SlotSeconds, LostSeconds: s.LostSeconds, LongestWait: s.LongestWait, keys: s.Keys,
	}
	if all > 0 {
		l.Share = s.SlotSeconds / all
	}
	if s.Started > 0 {
		l.WaitMean, l.WaitP50, l.WaitP99 = new(s.WaitSeconds/float64(s.Started)), new(s.WaitQuantile(0.5)), new(s.WaitQuantile(0.99))
	}
	for i, key := range by {
		switch v := s.Keys[i]; key {
		case api.ByOwner:
			l.Owner = &v
		case api.ByClass:
			l.Class = v
		case api.ByDay:
			l.Day = v
		case api.ByName:
			l.Name = &v
		case api.ByState:
			l.State = v
		}
	}
	return l
}

func printSums(out io.Writer, by []string, lines []UsageLine, all UsageLine) error {
	if len(lines) == 0 {
		return nil
	}
	w := cli.NewTable(out)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(by, "\t"))+"\tJOBS\tFAILED\tCANCELLED\tTASKS\tAGAIN\tSLOT-SECONDS\tLOST\tSHARE\tWAIT\tP50\tP99")
	if len(lines) > 1 {
		all.keys = append([]string{"all"}, make([]string, len(by)-1)...)
		lines = append(slices.Clone(lines), all)
	}
	for i := range lines {
		l := &lines[i]
		for _, key := range l.keys {
			fmt.Fprintf(w, "%s\t", cmp.Or(key, "-"))
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%.0f %%\t%s\t%s\t%s\n", l.Jobs, l.Failed, l.Cancelled, l.Tasks, l.Again, l.SlotSeconds, l.LostSeconds, 100*l.Share, waitText(l.WaitMean), waitText(l.WaitP50), waitText(l.WaitP99))
	}
	return w.Flush()
}

// waitText shows a wait, "-" for none.
func waitText(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f s", *seconds)
}

func printUsages(out io.Writer, list []api.JobUsage) error {
	if len(list) == 0 {
		return nil
	}
	w := cli.NewTable(out)
	fmt.Fprintln(w, "JOB\tOWNER\tNAME\tSTATE\tCLASS\tTASKS\tFAILED\tAGAIN\tSLOT-SECONDS\tLOST\tWAIT\tENDED")
	for i := range list {
		j := &list[i]
		var wait *float64
		if j.Started {
			wait = &j.Wait
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%.3f\t%.3f\t%s\t%s\n", j.Job, cmp.Or(j.Owner, "-"), cmp.Or(j.Name, "-"), j.State, j.Class, j.Tasks, j.Failed, j.Again, j.SlotSeconds, j.LostSeconds, waitText(wait), clockTime(j.Ended))
	}
	return w.Flush()
}
