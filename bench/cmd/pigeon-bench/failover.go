package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/bench/failover"
	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

func failoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "failover",
		Short: "Measure for how long a cluster stands still when a machine dies, hangs or is cut off",
		Long: `Starts three NATS servers with JetStream, a group of two masters, a frontend with its
standby and two nodes as processes, under a steady load of exec tasks. It kills the
master that leads, pauses it, cuts it off from all others, kills the frontend and
removes its disk, and kills a NATS server, --runs times each, and measures for how
long nothing is launched, or until the standby of the frontend goes on with a job.
On clusters without standbys it kills the process of a task, a node, the frontend and
the master, and measures until the tasks run again or the daemon serves again.

Cutting off needs network namespaces: root, or a machine that allows user namespaces.
Without them that is left out, and the output says so.`,
		Example: `  pigeon-bench failover
  pigeon-bench failover --runs 3 --kinds master-crash,nats-lost -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	var o failover.Options
	fs := cmd.Flags()
	fs.IntVar(&o.Runs, "runs", 20, "of each kind")
	fs.StringSliceVar(&o.Kinds, "kinds", nil, "kinds of failures: "+strings.Join(failover.Kinds(), ", ")+" (default: all that are possible here)")
	fs.StringVar(&o.Dir, "data", "", "folder that keeps logs and journals (default: a temporary one, removed at the end)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.Check(); err != nil {
			return cli.AsUsageError(err)
		}
		log := cmd.ErrOrStderr()
		o.Progress = func(line string) { fmt.Fprintln(log, line) }
		all := o.Kinds
		if len(all) == 0 {
			all = failover.Kinds()
		}
		var apart []string
		if !network.Entered() {
			apart = slices.DeleteFunc(slices.Clone(all), func(k string) bool { return !failover.NeedsNetwork(k) })
			all = slices.DeleteFunc(slices.Clone(all), failover.NeedsNetwork)
		}
		r, kept := &failover.Result{Bench: "failover", Runs: o.Runs}, o.Dir // a temporary folder will be gone
		if o.Kinds = all; len(all) > 0 {
			err := inFolder(&o.Dir, "pigeon-failover-", func() (err error) {
				r, err = failover.Run(cmd.Context(), o)
				return err
			})
			if err != nil {
				return err
			}
		}
		var failed error
		if len(apart) > 0 {
			o.Kinds, o.Dir = apart, kept
			failed = failoverApart(cmd.Context(), log, &o, r)
		}
		err := errors.Join(printMade(cmd.OutOrStdout(), *output, r, r.Write), failed)
		if err == nil && len(r.Kinds) == 0 {
			err = errors.New("no kind of failure could be measured here; the output says why")
		}
		return err
	}
	return cmd
}

// failoverApart measures kinds that need hosts of the daemons' own, in a network namespace, and adds
// them to the result, or why they are not there. What was measured before counts all the same.
func failoverApart(ctx context.Context, log io.Writer, o *failover.Options, r *failover.Result) error {
	var out bytes.Buffer
	kinds := strings.Join(o.Kinds, ",")
	args := []string{"failover", "--runs", strconv.Itoa(o.Runs), "--kinds", kinds, "-o", "json", "--data", o.Dir}
	status, there, err := network.Enter(ctx, args, &out, log)
	switch {
	case there && status != 0:
		r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: the measurement ended with status %d", kinds, status))
		return fmt.Errorf("%s could not be measured: the measurement in a network namespace ended with status %d; its reason is printed above", kinds, status)
	case !there:
		r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: this program may not make network namespaces here: %v", kinds, err))
		return nil
	}
	var more failover.Result
	if err := json.Unmarshal(out.Bytes(), &more); err != nil {
		return fmt.Errorf("the output of the measurement in a network namespace cannot be read: %w", err)
	}
	r.Kinds, r.Load.After = append(r.Kinds, more.Kinds...), more.Load.After
	return nil
}

// inFolder calls do with a folder: the named one, or a temporary one, which is removed unless
// do fails.
func inFolder(dir *string, pattern string, do func() error) (err error) {
	temporary := *dir == ""
	if temporary {
		*dir, err = os.MkdirTemp("", pattern)
	} else if *dir, err = filepath.Abs(*dir); err == nil {
		err = os.MkdirAll(*dir, 0o755)
	}
	if err != nil {
		return err
	}
	if err = do(); err != nil {
		return fmt.Errorf("%w; what there is of the run is in %s", err, *dir)
	}
	if temporary {
		return os.RemoveAll(*dir)
	}
	return nil
}

// printMade prints a result as JSON or, with the machine and the day, as Markdown.
func printMade(out io.Writer, format cli.OutputFormat, r any, write func(out io.Writer, machine, when string) error) error {
	if format == cli.OutputJSON {
		return cli.WriteJSON(out, r)
	}
	return write(out, launch.Machine(), "Made on "+time.Now().Format("2 January 2006")+".")
}
