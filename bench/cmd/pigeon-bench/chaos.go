package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// chaosTaskMain turns this process into a task of `pigeon-bench chaos`, when it was started
// as one. It does not return then. A task does not pay for the verbs.
func chaosTaskMain() {
	if len(os.Args) > 1 && os.Args[1] == chaos.TaskVerb {
		os.Exit(chaos.TaskMain(os.Args[2:]))
	}
}

// chaosFlags are those of `pigeon-bench chaos`.
type chaosFlags struct {
	chaos.Options
	minutes float64
	spark   int
}

func chaosCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Run a cluster under overlapping faults and check that nothing is lost",
		Long: `Starts 2 frontends, 2 masters (one under policies with one master), 4 nodes and NATS
as processes, submits jobs whose tasks write their own histories, and kills, pauses
and stops daemons and cuts, delays and loses what they send each other, by a
programme that is drawn from the seed. Then everything is healed, and the histories,
the clients' accounts and the daemons' are checked against each other.

Partitions, delays and loss need network namespaces: root, or a machine that allows
user namespaces. Without them these faults are left out, and the output says so.

The exit status is 1 when a contradiction was found; the folder with logs, journals
and histories is kept then.`,
		Example: `  pigeon-bench chaos --seed 1 --minutes 4
  pigeon-bench chaos --policy hawk --rate 1.5 --kinds kill,pause,partition
  pigeon-bench chaos --seed 7 --faults 31 -o json      the first 31 faults of a programme
  pigeon-bench chaos --binary /opt/pigeon/bin/pigeon   daemons of another version
  pigeon-bench chaos --report out/chaos/results.jsonl  the page from results`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	f, fs := &chaosFlags{}, cmd.Flags()
	f.define(fs)
	report := fs.StringSlice("report", nil, "instead of a run, print the page of results: files with what -o json printed")
	again := fs.String("again", "", "instead of a run, check one again whose folder was kept")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(*report) > 0 {
			return chaos.Report(cmd.OutOrStdout(), *report)
		}
		if *again != "" {
			r, err := chaos.Again(*again)
			if err != nil {
				return cli.AsUsageError(err)
			}
			return f.print(cmd.OutOrStdout(), *output, r)
		}
		f.Lasts = time.Duration(f.minutes * float64(time.Minute))
		if f.spark != 0 {
			f.Spark = &chaos.Applications{Count: f.spark}
		}
		if err := f.Check(); err != nil {
			return cli.AsUsageError(err)
		}
		return f.run(cmd, *output)
	}
	return cmd
}

// define defines the flags of a run.
func (f *chaosFlags) define(fs *pflag.FlagSet) {
	fs.Uint64Var(&f.Seed, "seed", 1, "of the faults and the jobs")
	fs.StringVar(&f.Policy, "policy", "pigeon", "NAME[:key=value,...]")
	fs.Float64Var(&f.minutes, "minutes", 4, "of faults; the run ends when everything is healed and done")
	fs.Float64Var(&f.Rate, "rate", 0.7, "faults a second")
	fs.StringSliceVar(&f.Kinds, "kinds", nil, "kinds of faults: "+strings.Join(chaos.Kinds(), ", ")+" (default: all that are possible here)")
	fs.BoolVar(&f.Standbys, "standbys", false, "a standby of each master and frontend, and three NATS servers with JetStream; implied by the kinds that need them")
	fs.IntVar(&f.Faults, "faults", 0, "inject only this many faults, the first of the programme; 0: all")
	fs.Float64Var(&f.Jobs, "jobs", 2.2, "submitted a second")
	fs.StringVar(&f.Binary, "binary", "", "program of the daemons (default: this one)")
	fs.StringVar(&f.Beside, "beside", "", "program of every second daemon of each role, such as another version's (default: none)")
	fs.StringVar(&f.JournalFaults, "journal-faults", "", "setting journal_faults of frontend 0: slow=5ms, fsync-error-after=500 and others (default: none)")
	fs.IntVar(&f.spark, "spark", 0, "Spark applications in the mix, by the Spark that 'pigeon spark' finds; each runs a small job every two seconds")
	fs.StringVar(&f.Dir, "data", "", "folder that is kept (default: a temporary one, removed at the end unless something was found)")
}

func (f *chaosFlags) run(cmd *cobra.Command, output cli.OutputFormat) error {
	for flag, program := range map[string]*string{"--binary": &f.Binary, "--beside": &f.Beside} {
		if *program == "" {
			continue
		}
		path, err := filepath.Abs(*program)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return cli.AsUsageError(fmt.Errorf("%s: %w; nothing was started", flag, err))
		}
		*program = path
	}
	ctx, log := cmd.Context(), cmd.ErrOrStderr()
	if len(f.Kinds) == 0 || f.Beside != "" || slices.ContainsFunc(f.Kinds, chaos.NeedsNetwork) {
		status, there, err := network.Enter(ctx, os.Args[1:], cmd.OutOrStdout(), log)
		switch {
		case there && status != 0:
			return cli.SilentError{Code: status}
		case there:
			return nil
		case err != nil:
			fmt.Fprintf(log, "faults of the network are left out: %v\n", err)
		}
	}
	return f.here(ctx, cmd.OutOrStdout(), log, output)
}

// here runs in this process's network.
func (f *chaosFlags) here(ctx context.Context, out, log io.Writer, output cli.OutputFormat) (err error) {
	temporary := f.Dir == ""
	if temporary {
		f.Dir, err = os.MkdirTemp("", "pigeon-chaos-")
	} else if f.Dir, err = filepath.Abs(f.Dir); err == nil {
		err = os.MkdirAll(f.Dir, 0o755)
	}
	if err != nil {
		return err
	}
	if f.Spark != nil {
		if f.Spark.Program, _, err = sparkHere(ctx); err != nil {
			return err
		}
	}
	f.Progress = func(line string) { fmt.Fprintln(log, line) }
	r, err := chaos.Run(ctx, f.Options)
	if err != nil {
		return fmt.Errorf("%w; what there is of the run is in %s", err, f.Dir)
	}
	if temporary && len(r.Findings) == 0 {
		r.Dir = ""
		if err := os.RemoveAll(f.Dir); err != nil {
			return err
		}
	}
	return f.print(out, output, r)
}

// print prints a result; findings are a failure.
func (f *chaosFlags) print(out io.Writer, output cli.OutputFormat, r *chaos.Result) (err error) {
	if output == cli.OutputJSON {
		err = cli.WriteJSON(out, r)
	} else {
		chaos.Print(out, r)
	}
	return cmp.Or(err, failedIf(len(r.Findings) > 0))
}

// failedIf returns exit status 1 for a failure that the output has named.
func failedIf(failed bool) error {
	if failed {
		return cli.SilentError{Code: cli.ExitFailed}
	}
	return nil
}
