// Package jobs has the verbs that submit jobs, cancel them and fetch their files: submit, run, cancel, files.
// What a job is comes from package request, what happened to it is shown by package show.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/request"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/show"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// submitFlags are those of "pigeon submit" beyond the job's.
type submitFlags struct {
	sleep time.Duration
	tasks int
	wait  bool

	array   string
	running int
	after   []string
	file    string
	schema  bool
	collect string

	failedOf string
}

// SubmitLine is what "pigeon submit -o json" prints.
type SubmitLine struct {
	Job       string `json:"job"`       // its id
	Duplicate bool   `json:"duplicate"` // whether the key was known: nothing new was accepted
	Frontend  string `json:"frontend"`  // host:port of the frontend that accepted it
}

// SubmitCommand is the verb submit.
func SubmitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "submit [flags] {-- PROGRAM | SCRIPT} [ARGUMENT]...",
		GroupID: cli.GroupJobs,
		Short:   "Submit a job and print its id",
		Long: `Submits a job and prints its id once its frontend has stored it. The program runs without
a shell, once for each task: PIGEON_JOB, PIGEON_TASK and PIGEON_ATTEMPT in its environment.
A script of this machine, or standard input (-), is sent with the job, unless -- comes
before its name. With --wait, the exit status is 1 when the job fails or is cancelled.
docs/jobs.md has scripts, job files, arrays, and all else about each flag.`,
		Example: `  pigeon submit -- make -C /src test
  pigeon submit --tasks 100 --estimate 20s -- sh -c 'render frame-$PIGEON_TASK'
  pigeon submit --key nightly-7 -- backup             submitted twice, accepted once
  pigeon submit --array 1-1000 job.sh                 PIGEON_ARRAY_INDEX is 1, 2 ... 1000
  pigeon submit --wait --array 1,3,5-9 -o 'out_%a.txt' job.sh
  pigeon submit --after JOB:ok --after OTHER:any -- report
  pigeon submit --file job.yaml --priority 5`,
	}
	job := request.AddFlags(cmd)
	var own submitFlags
	own.add(cmd.Flags())
	output, files := show.AddSubmitOutput(cmd, cmd.Flags())
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		if own.schema {
			return request.WriteSchema(cmd.OutOrStdout(), cmd.Flags())
		}
		r, err := own.request(cmd, job, argv)
		if err != nil {
			return err
		}
		return connect.WithCluster(cmd, func(c *connect.Cluster) error {
			err := own.onlyFailed(cmd, c, r)
			if err == nil {
				err = cli.AsUsageError(files.Check(len(r.Tasks), own.wait))
			}
			if err != nil {
				return err
			}
			return own.submit(cmd, c, &jobToRun{r, job.Staged}, *output, *files)
		})
	}
	return cmd
}

// add adds the flags.
func (f *submitFlags) add(fs *pflag.FlagSet) {
	fs.DurationVar(&f.sleep, "sleep", 0, "sleep for this long instead of running a program")
	fs.IntVar(&f.tasks, "tasks", 1, fmt.Sprintf("tasks of the job, at most %d", api.MaxTasks))
	fs.BoolVar(&f.wait, "wait", false, "wait until the job has ended")
	fs.StringVar(&f.array, "array", "", "a task for each index: 1-1000, 0-90:10, 1,3,5-9, 1-1000%50")
	connect.AddFilledText(fs, &f.failedOf, "failed-of", "give the id of a job", "only the tasks that failed in this job, repeated here")
	fs.IntVar(&f.running, "max-running", 0, "tasks of the job that run at a time (default: no limit)")
	fs.StringArrayVar(&f.after, "after", nil, "JOB[:ok] or JOB:any: start once it has completed, or ended; repeatable")
	fs.StringVar(&f.file, "file", "", "job file in YAML or JSON, - for standard input")
	addCollect(fs, &f.collect)
	fs.BoolVar(&f.schema, "schema", false, "print the JSON Schema of job files")
}

// request makes the job of the command line, of a script and of a job file.
func (f *submitFlags) request(cmd *cobra.Command, job *request.Flags, argv []string) (r *api.Request, err error) {
	if argv, err = f.program(cmd, job, argv); err == nil {
		err = f.check(cmd, argv)
	}
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	array, tasks, most := api.Array{}, f.tasks, 0
	if cmd.Flags().Changed("array") {
		if array, tasks, most, err = api.ParseArray(f.array); err != nil {
			return nil, cli.AsUsageError(fmt.Errorf("--array: %w", err))
		}
	}
	if most, err = f.limit(cmd, most); err != nil {
		return nil, cli.AsUsageError(err)
	}
	var after []api.After
	for _, text := range f.after {
		a, err := api.ParseAfter(text)
		if err != nil {
			return nil, cli.AsUsageError(fmt.Errorf("--after: %w", err))
		}
		after = append(after, a)
	}
	if r, err = job.Request(argv, f.sleep, tasks); err != nil {
		return nil, err
	}
	r.Array, r.After, r.MaxRunning = array, after, most
	if err := r.Validate(); err != nil {
		return nil, cli.AsUsageError(err)
	}
	return r, checkCollect(f.collect)
}

// onlyFailed leaves the tasks that failed in the job of --failed-of.
func (f *submitFlags) onlyFailed(cmd *cobra.Command, c *connect.Cluster, r *api.Request) error {
	if f.failedOf == "" {
		return nil
	}
	e, err := show.Explain(cmd.Context(), c, f.failedOf)
	if err != nil {
		return err
	}
	s, flags := &e.Status, cmd.Flags()
	switch {
	case !s.State.Ended():
		return fmt.Errorf("job %s is %s, and which of its tasks fail is known when it has ended; 'pigeon status %[1]s' says so", s.Job, s.State)
	case s.Failed == 0:
		return fmt.Errorf("job %s %s, and none of its tasks has failed; there is nothing to run again", s.Job, show.StatePhrase(s.State))
	case e.Failed == "":
		return fmt.Errorf("which %d tasks of job %s failed is not known any more, or takes more than %d bytes to say; name their indices with --array", s.Failed, s.Job, api.MaxIndices)
	case (flags.Changed("array") || flags.Changed("tasks")) && len(r.Tasks) != s.Tasks:
		return cli.AsUsageError(fmt.Errorf("job %s has %d tasks, and this command line %d; repeat the one of that job", s.Job, s.Tasks, len(r.Tasks)))
	}
	failed, err := show.SelectTasks(e.Failed, s.Tasks, s.Job)
	if err != nil {
		return err
	}
	if r.Backend == api.BackendExec {
		if r.Array, err = r.Array.Subset(failed); err != nil {
			return err
		}
	}
	payload := r.Tasks[0].Payload
	r.Tasks = make([]api.Task, len(failed))
	for i := range r.Tasks {
		r.Tasks[i] = api.Task{ID: strconv.Itoa(i), Payload: payload}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "pigeon: %s of job %s again, of %d: %s\n", sched.Count(len(failed), "task", "tasks"), s.Job, s.Tasks, api.Clip(e.Failed, 200))
	return cli.AsUsageError(r.Validate())
}

// limit returns how many tasks may run at a time. ofArray is what the array says, 0 for nothing.
func (f *submitFlags) limit(cmd *cobra.Command, ofArray int) (int, error) {
	switch {
	case !cmd.Flags().Changed("max-running"):
		return ofArray, nil
	case f.running < 1:
		return 0, fmt.Errorf("--max-running %d lets no task run; give 1 or more, or leave it out for no limit", f.running)
	case ofArray > 0 && ofArray != f.running:
		return 0, fmt.Errorf("--array %s lets %d tasks run at a time, and --max-running %d; leave one of them out", f.array, ofArray, f.running)
	}
	return f.running, nil
}

// program applies the script and the job file, and returns the command line of the job.
func (f *submitFlags) program(cmd *cobra.Command, job *request.Flags, argv []string) ([]string, error) {
	if f.file == "-" && len(argv) > 0 && argv[0] == "-" && cmd.ArgsLenAtDash() < 0 {
		return nil, errors.New("the script and --file would both be standard input; name a file for one of them")
	}
	argv, _, err := job.UseScript(argv)
	if err != nil {
		return nil, err
	}
	if f.file == "" {
		return argv, nil
	}
	return f.programOfFile(cmd, job, argv)
}

// programOfFile applies the job file, after its script where that is what runs.
func (f *submitFlags) programOfFile(cmd *cobra.Command, job *request.Flags, argv []string) ([]string, error) {
	file, err := request.ReadFile(f.file, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	if len(argv) == 0 && file.Script != "" {
		script := &request.Script{Path: "the script of " + file.Path, Text: []byte(file.Script)}
		if err := script.Apply(cmd, cmd.ErrOrStderr()); err != nil {
			return nil, err
		}
		job.FileEnv = script.Env
	}
	if err := file.Apply(cmd.Flags(), len(argv) > 0); err != nil {
		return nil, err
	}
	job.FileEnv = append(file.Env, job.FileEnv...)
	if len(argv) > 0 || cmd.Flags().Changed("sleep") && len(file.Command) == 0 && file.Script == "" {
		return argv, nil
	}
	job.Script, argv = file.Program()
	return argv, request.CheckScript(file.Path, job.Script)
}

// check allows a program or --sleep, and --tasks or --array.
func (f *submitFlags) check(cmd *cobra.Command, argv []string) error {
	switch sleeps := cmd.Flags().Changed("sleep"); {
	case f.collect != "" && !f.wait:
		return fmt.Errorf("--%s copies files when the job has ended; give --wait too, or run 'pigeon files JOB --to %s' then", collectFlag, f.collect)
	case f.failedOf != "" && len(argv) == 0 && !sleeps:
		return fmt.Errorf("--failed-of %s needs the command line of that job, too: what its tasks ran is not kept; repeat it, with --array, or its script", f.failedOf)
	case f.array != "" && cmd.Flags().Changed("tasks"):
		return fmt.Errorf("both --tasks and --array are given, and the array %s says how many tasks there are; leave --tasks out", f.array)
	case sleeps && len(argv) > 0:
		return fmt.Errorf("both --sleep and a program (%q) are given; leave one out", argv[0])
	case !sleeps:
		return request.CheckArgv(argv, "submit")
	case f.sleep < 0:
		return fmt.Errorf("--sleep %v is negative", f.sleep)
	}
	return nil
}

func (f *submitFlags) submit(cmd *cobra.Command, c *connect.Cluster, r *jobToRun, output cli.OutputFormat, files show.TaskFiles) error {
	job, duplicate, err := c.SubmitWithFiles(cmd.Context(), r.Request, r.staged.Paths)
	if err != nil {
		return notSubmitted(cmd.Context(), cmd.ErrOrStderr(), err, func(lost *client.AnswerError) error {
			_ = cli.PrintTo(cmd.ErrOrStderr(), "interrupted; %v\n", lost)
			return cli.SilentError{Code: cli.ExitInterrupted}
		})
	}
	id := job.ID
	if err := printSubmitted(cmd, &SubmitLine{Job: id, Duplicate: duplicate, Frontend: job.Frontend().Address}, output); err != nil {
		return err
	}
	if !f.wait {
		return nil
	}
	var end api.Status
	err = waitAndPrint(cmd.Context(), job, cmd.ErrOrStderr(), func(s api.Status) error {
		end = s
		if output == cli.OutputJSON {
			return cli.WriteJSON(cmd.OutOrStdout(), s)
		}
		return printEnd(cmd.ErrOrStderr(), &s)
	})
	if err != nil && cmd.Context().Err() != nil {
		return connect.ReportUnfinished(cmd.ErrOrStderr(), id)
	}
	if err == nil || errors.Is(err, cli.SilentError{Code: cli.ExitFailed}) { // it has ended
		err = cmp.Or(err, files.Collect(cmd.Context(), job, r.Array, &end, cmd.ErrOrStderr()), collect(cmd.Context(), &collection{job, len(r.Tasks), f.collect, r.Stage}, cmd.ErrOrStderr()))
	}
	return err
}

// printSubmitted prints the id of a job that was accepted. Its user must learn it also where
// standard output takes nothing: who runs the command again would have the job twice.
func printSubmitted(cmd *cobra.Command, s *SubmitLine, output cli.OutputFormat) (err error) {
	defer connect.FailBrokenPipes()()
	if output == cli.OutputJSON {
		err = cli.WriteJSON(cmd.OutOrStdout(), s)
	} else {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), s.Job)
		if s.Duplicate {
			printDuplicate(cmd.ErrOrStderr(), s.Job)
		}
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("job %s was accepted, and its id could not be written: %w", s.Job, err)
	if connect.IsBrokenPipe(err) {
		_ = cli.PrintTo(cmd.ErrOrStderr(), "pigeon: %v\n", err)
		return cli.SilentError{Code: cli.ExitBrokenPipe}
	}
	return err
}

// printDuplicate says that the job of a key had been accepted before.
func printDuplicate(w io.Writer, id string) {
	fmt.Fprintf(w, "job %s is known already; nothing new was accepted\n", id)
}

// waitAndPrint waits for a job, with its progress on w; one that did not complete is exit status
// 1.
func waitAndPrint(ctx context.Context, job *client.Job, w io.Writer, report func(api.Status) error) error {
	s, err := waitWithProgress(ctx, job, w)
	if err != nil {
		return fmt.Errorf("job %s was accepted, and waiting for it ended early: %w", job.ID, err)
	}
	if err := report(s); err != nil {
		return fmt.Errorf("job %s was accepted and %s, and that could not be written: %w", job.ID, show.StatePhrase(s.State), err)
	}
	if s.State != api.StateCompleted {
		return cli.SilentError{Code: cli.ExitFailed}
	}
	return nil
}

// printEnd prints in a line how a job ended.
func printEnd(w io.Writer, s *api.Status) error {
	line := fmt.Sprintf("job %s %s after %.3f s, %d of %s completed", s.Job, s.State, s.Seconds, s.Completed, sched.Count(s.Tasks, "task", "tasks"))
	if s.Reason != "" {
		line += ": " + s.Reason
	}
	return cli.PrintTo(w, "%s\n", line)
}
