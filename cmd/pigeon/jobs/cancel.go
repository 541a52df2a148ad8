package jobs

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

// CancelCommand is the verb cancel.
func CancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cancel JOB|APPLICATION...",
		GroupID: cli.GroupJobs,
		Short:   "Cancel jobs: drop their queued tasks and kill their running ones",
		Long: `Cancels jobs: drops their queued tasks and kills their running ones. A job that has
ended stays as it is. An application with executors of its own, such as one of Spark, is
stopped: its executors end, and its driver receives the reason.`,
		Example:           "  pigeon cancel JOB\n  pigeon cancel JOB -o json\n  pigeon cancel APPLICATION",
		Args:              cli.NamesAtLeastOne("job"),
		ValidArgsFunction: connect.CompleteJobs,
	}
	output := cli.AddOutputFlag(cmd)
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, jobs []string) error {
		return connect.Order(cmd, func(c *connect.Cluster) error {
			jobs, err := c.JobIDs(cmd.Context(), jobs)
			if err != nil {
				return err
			}
			for _, job := range jobs {
				err = errors.Join(err, cancelJob(cmd, c, job, *output))
			}
			return err
		})
	}
	return cmd
}

func cancelJob(cmd *cobra.Command, c *connect.Cluster, job string, output cli.OutputFormat) error {
	var s api.Status
	_, err := c.Of(cmd.Context(), job, func(ctx context.Context, f *client.Frontend) (err error) {
		s, err = f.Cancel(ctx, job)
		return err
	})
	if err != nil {
		return err
	}
	if output == cli.OutputJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), &s)
	}
	if s.App == job && s.State == api.StateCancelled {
		err = cli.PrintTo(cmd.OutOrStdout(), "application %s is asked to end; its executors (%d) are stopped\n", job, s.Running)
	} else if s.State == api.StateCancelled {
		err = cli.PrintTo(cmd.OutOrStdout(), "%s is cancelled; %d of its %s had ended\n", job, s.Completed+s.Failed, sched.Count(s.Tasks, "task", "tasks"))
	} else {
		err = cli.PrintTo(cmd.OutOrStdout(), "%s had ended before: %s\n", job, s.State)
	}
	return err
}
