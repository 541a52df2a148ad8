package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FileLine is what "pigeon files -o json" prints.
type FileLine struct {
	Job  string `json:"job"`  // its id
	Task int    `json:"task"` // number in the job, from 0
	api.TaskFile
}

// filesFlags are those of "pigeon files".
type filesFlags struct {
	task    int // -1: all
	attempt int // 0: the latest
	to      string
}

// FilesCommand is the verb files.
func FilesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "files JOB [PATTERN]...",
		GroupID: cli.GroupJobs,
		Short:   "List or copy the files that the tasks of a job left",
		Long: `Lists the files that the tasks of an exec job left in their working folders, or copies them
with --to. Each attempt has a working folder of its own, unless the job names one (--dir); its
node keeps it for an hour after its end, with the outputs.

A PATTERN such as '*.csv' or 'out/*.csv' selects files by their name, or by their path if it has
a slash; without one all are meant. With --to, files of a job of several tasks go into a folder
for each task, named by its number, unless --task selects one. Files that exist are replaced.
Links, pipes and files of other users are left out, staged files that the task has not changed are
gone, and a folder of more than 10,000 files is refused.

'pigeon submit --wait --collect FOLDER' and 'pigeon run --collect FOLDER' copy them at the end.`,
		Example: `  pigeon files JOB
  pigeon files JOB 'out/*.csv' --to results
  pigeon files JOB --task 7 --to .`,
		Args:              cli.NamesFirst("job"),
		ValidArgsFunction: connect.CompleteJobs,
	}
	output := cli.AddOutputFlag(cmd)
	var f filesFlags
	fs := cmd.Flags()
	fs.IntVar(&f.task, "task", -1, "number of the task, from 0 (default: all)")
	fs.IntVar(&f.attempt, "attempt", 0, "number of the attempt, as explain shows it (0 = the latest)")
	fs.StringVar(&f.to, "to", "", "copy the files into this folder")
	fs.Lookup("task").DefValue = "0" // which is not shown: its usage says what counts without it
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args[1:]); err != nil {
			return cli.AsUsageError(err)
		}
		ctx, stop := connect.UntilHangup(cmd.Context()) // the part of a file that was copied is removed
		defer stop()
		cmd.SetContext(ctx)
		return connect.WithCluster(cmd, func(c *connect.Cluster) error {
			err := f.run(cmd, c, args[0], args[1:], *output)
			if err != nil && cmd.Context().Err() != nil {
				return interruptedFiles(cmd.ErrOrStderr(), args[0])
			}
			return err
		})
	}
	return cmd
}

func (f *filesFlags) check(cmd *cobra.Command, patterns []string) error {
	switch flags := cmd.Flags(); {
	case flags.Changed("task") && f.task < 0 || f.attempt < 0:
		return fmt.Errorf("--task %d and --attempt %d must not be negative", f.task, f.attempt)
	case f.attempt > 0 && !flags.Changed("task"):
		return errors.New("--attempt is of one task; name it with --task")
	case flags.Changed("to") && f.to == "":
		return errors.New("--to names no folder; give . for the current one")
	}
	return checkPatterns(patterns)
}

func (f *filesFlags) run(cmd *cobra.Command, c *connect.Cluster, given string, patterns []string, output cli.OutputFormat) error {
	id, err := c.JobID(cmd.Context(), given)
	if err != nil {
		return err
	}
	job, s, err := c.Find(cmd.Context(), id)
	if err != nil {
		return err
	}
	if f.task >= s.Tasks {
		return cli.AsUsageError(fmt.Errorf("job %s has tasks 0 to %d, not %d; name one of these with --task", id, s.Tasks-1, f.task))
	}
	k := &collector{job: job, attempt: f.attempt, patterns: patterns, errs: cmd.ErrOrStderr(), patient: s.State.Ended()}
	if f.to != "" {
		if err := k.copyInto(f.to, s.Tasks > 1 && f.task < 0); err != nil {
			return err
		}
		defer k.close()
	}
	w, header := cli.NewTable(cmd.OutOrStdout()), func() {}
	switch {
	case output == cli.OutputJSON:
		k.found = func(task int, file *api.TaskFile) error {
			return cli.WriteJSON(cmd.OutOrStdout(), FileLine{Job: id, Task: task, TaskFile: *file})
		}
	case f.to == "":
		header = sync.OnceFunc(func() { fmt.Fprintln(w, "TASK\tBYTES\tFILE") })
		k.found = func(task int, file *api.TaskFile) error {
			header()
			_, err := fmt.Fprintf(w, "%d\t%d\t%s\n", task, file.Size, cli.Printable(file.Path))
			return err
		}
	}
	if f.task >= 0 {
		err = k.task(cmd.Context(), f.task)
	} else {
		err = k.tasks(cmd.Context(), s.Tasks)
	}
	if err == nil && k.failed == 0 { // an empty table says that nothing was left
		header()
	}
	return errors.Join(err, w.Flush(), k.report())
}

// collectFlag is --collect of the verbs that wait for a job.
const collectFlag = "collect"

// addCollect adds the flag.
func addCollect(fs *pflag.FlagSet, to *string) {
	connect.AddFilledText(fs, to, collectFlag, "name a folder, . for the current one", "folder for the files that the tasks leave in their own")
}

// collection is what --collect copies: what the tasks of a job left, into a folder, "" for nowhere.
// Staged files that a task has not changed stay where they are.
type collection struct {
	job   *client.Job
	tasks int
	to    string
	stage []api.StagedFile
}

// interruptedFiles reports that files are missing whose user has pressed Ctrl-C or closed the
// terminal, and returns the exit status as an error.
func interruptedFiles(w io.Writer, job string) error {
	fmt.Fprintf(w, "interrupted; the files of job %s are not complete\n", job)
	return cli.SilentError{Code: cli.ExitInterrupted}
}

// collect copies the files of a job that has ended. It says what fails, and then the exit status is
// 1, or 130 when its user has interrupted it.
func collect(ctx context.Context, c *collection, errs io.Writer) error {
	if c.to == "" {
		return nil
	}
	k := &collector{job: c.job, errs: errs, staged: map[string]*api.StagedFile{}}
	for i := range c.stage {
		k.staged[c.stage[i].Name] = &c.stage[i]
	}
	ctx, stop := connect.UntilHangup(ctx)
	defer stop()
	err := k.copyInto(c.to, c.tasks > 1)
	if err == nil {
		defer k.close()
		err = k.tasks(ctx, c.tasks)
	}
	if err != nil && ctx.Err() != nil {
		return interruptedFiles(errs, c.job.ID)
	}
	if err != nil {
		fmt.Fprintf(errs, "pigeon: files of job %s: %v\n", c.job.ID, err)
		return cli.SilentError{Code: cli.ExitFailed}
	}
	return k.report()
}

// checkCollect returns why files cannot be copied into a folder, before a job is submitted whose
// files they would be.
func checkCollect(to string) error {
	if to == "" {
		return nil
	}
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // as mkdir does
		return fmt.Errorf("--%s: the folder cannot be made: %w", collectFlag, err)
	}
	return nil
}
