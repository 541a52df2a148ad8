package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/frontends"
	"github.com/spf13/cobra"
)

// submitFlags are those of "pigeon submit" beyond the job's.
type submitFlags struct {
	sleep time.Duration
	tasks int
	wait  bool
}

// submitted is what "pigeon submit -o json" prints.
type submitted struct {
	Job       string `json:"job"`       // its id
	Duplicate bool   `json:"duplicate"` // whether the key was known: nothing new was accepted
	Frontend  string `json:"frontend"`  // host:port of the frontend that accepted it
}

func submitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "submit [flags] -- PROGRAM [ARGUMENT]...",
		GroupID: groupJobs,
		Short:   "Submit a job and print its id",
		Long: `Submits a job and prints its id once the frontend has it in its journal. The
program runs without a shell, once for each task; PIGEON_JOB, PIGEON_TASK and
PIGEON_ATTEMPT in its environment name it. A program may be started more than once
for a task, by another attempt with a higher number; no number starts twice.

With --wait, the exit status is 1 when the job fails or is cancelled, and standard error
shows how far it has come: a bar on a terminal, else a line every 10 s. A frontend that does
not answer is tried for --retry-for, with the others of --frontend, and the job is
accepted once: it is sent again under the same key, and only to where that is the same
job.`,
		Example: `  pigeon submit -- make -C /src test
  pigeon submit --tasks 100 --estimate 20s -- sh -c 'render frame-$PIGEON_TASK'
  pigeon submit --sleep 100ms --tasks 20 --wait       tasks that only sleep
  pigeon submit --key nightly-7 -- backup             twice is once`,
	}
	output := addOutput(cmd)
	job := addJobFlags(cmd)
	var own submitFlags
	fs := cmd.Flags()
	fs.DurationVar(&own.sleep, "sleep", 0, "instead of running a program, sleep for so long")
	fs.IntVar(&own.tasks, "tasks", 1, fmt.Sprintf("tasks of the job, at most %d", api.MaxTasks))
	fs.BoolVar(&own.wait, "wait", false, "wait until the job has ended")
	addClientFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		if err := own.check(cmd, argv); err != nil {
			return wrongUse(err)
		}
		r, ownKey, err := job.request(argv, own.sleep, own.tasks)
		if err != nil {
			return err
		}
		return withCluster(cmd, func(c *clusterClient) error { return own.submit(cmd, c, r, ownKey, *output) })
	}
	return cmd
}

// check allows a program or --sleep.
func (f *submitFlags) check(cmd *cobra.Command, argv []string) error {
	switch sleeps := cmd.Flags().Changed("sleep"); {
	case sleeps && len(argv) > 0:
		return fmt.Errorf("both --sleep and a program (%q) are given; leave one out", argv[0])
	case !sleeps:
		return checkArgv(argv, "submit")
	case f.sleep < 0:
		return fmt.Errorf("--sleep %v is negative", f.sleep)
	}
	return nil
}

func (f *submitFlags) submit(cmd *cobra.Command, c *clusterClient, r *api.Request, ownKey bool, output outputFormat) error {
	out := cmd.OutOrStdout()
	job, duplicate, err := c.Submit(cmd.Context(), r, ownKey)
	if err != nil {
		return err
	}
	id := job.ID
	if output == outputJSON {
		err = writeJSON(out, submitted{Job: id, Duplicate: duplicate, Frontend: job.Frontend().Address})
	} else {
		_, err = fmt.Fprintln(out, id)
		if duplicate {
			fmt.Fprintf(cmd.ErrOrStderr(), "job %s is known already; nothing new was accepted\n", id)
		}
	}
	if err != nil || !f.wait {
		return err
	}
	err = waitAndPrint(cmd.Context(), job, cmd.ErrOrStderr(), func(s api.Status) error {
		if output == outputJSON {
			return writeJSON(out, s)
		}
		return printEnd(cmd.ErrOrStderr(), &s)
	})
	if err != nil && cmd.Context().Err() != nil {
		return left(cmd.ErrOrStderr(), id)
	}
	return err
}

// waitAndPrint waits for a job, with its progress on w; one that did not complete is exit status
// 1.
func waitAndPrint(ctx context.Context, job *frontends.Job, w io.Writer, report func(api.Status) error) error {
	s, err := waitWithProgress(ctx, job, w)
	if err != nil {
		return fmt.Errorf("job %s was accepted, and waiting for it ended early: %w", job.ID, err)
	}
	if err := report(s); err != nil {
		return err
	}
	if s.State != api.StateCompleted {
		return silentError{exitFailed}
	}
	return nil
}

// printEnd prints in a line how a job ended.
func printEnd(w io.Writer, s *api.Status) error {
	line := fmt.Sprintf("job %s %s after %.3f s, %d of %d tasks completed", s.Job, s.State, s.Seconds, s.Completed, s.Tasks)
	if s.Reason != "" {
		line += ": " + s.Reason
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
