// Command pigeon-bench is the laboratory of Pigeon: it replays workloads, compares policies, reproduces
// published figures and breaks clusters on purpose. What its verbs run lives in the package of
// its name; daemons are those of the program pigeon.
package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

func main() {
	guard.Register() // in a guard of exec tasks it does not return
	chaosTaskMain()
	cli.Main(run)
}

// run is the whole program, so that tests start it in-process. It returns the
// exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(ctx, newRoot(), args, cli.Streams{In: stdin, Out: stdout, Err: stderr}, nil)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "pigeon-bench",
		Short: "Compare schedulers, replay workloads, measure and break clusters of Pigeon",
		Long: `Measures Pigeon and the schedulers of the literature, which run in the same daemons and in the
same simulator: simulated or live, on a cluster of its own on this machine or on a running one. On
a cluster in one process the client's share of processor and memory is included; with
--isolation process only the daemons are.`,
		Example: `  pigeon-bench replay --demo                             a quarter of a minute, live beside simulated
  pigeon-bench compare --loads 0.5,0.7,0.9 --seeds 5     every policy on a generated workload
  pigeon-bench trace inspect gen:ec2                     what is in a workload
  pigeon-bench chaos --seed 1 --minutes 4                overlapping faults; nothing may be lost`,
	}
	root.AddCommand(simulation.Command(), replayCommand(), compareCommand(), modelCommand(), watchCommand(), traceCommand(), cli.VersionCommand(cli.GroupSelf))
	for _, measurement := range []*cobra.Command{
		latencyCommand(), launchCommand(), tableCommand(), fairCommand(), sparkCommand(), reutherCommand(), faultsCommand(), chaosCommand(), soakCommand(), failoverCommand(),
	} {
		measurement.GroupID = cli.GroupMeasure
		root.AddCommand(measurement)
	}
	cli.Complete(root)
	return root
}
