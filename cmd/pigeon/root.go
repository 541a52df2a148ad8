package main

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"

	"github.com/spf13/cobra"
)

// verbs lists every verb. Each has a file of its name, except the daemons (daemons.go).
func verbs(roles []role) []*cobra.Command {
	return []*cobra.Command{
		devCommand(),
		frontendCommand(),
		masterCommand(),
		nodeMonitorCommand(),
		natsCommand(),
		clusterCommand(),
		nodesCommand(),
		pkiCommand(),
		tokenCommand(),
		sharesCommand(),
		submitCommand(),
		runCommand(),
		statusCommand(),
		topCommand(),
		whoamiCommand(),
		explainCommand(),
		logsCommand(),
		filesCommand(),
		historyCommand(),
		eventsCommand(),
		cancelCommand(),
		sparkCommand(),
		simulation.Command(),
		configCommand(roles),
		doctorCommand(),
		cli.VersionCommand(cli.GroupSelf),
	}
}

func newRoot(roles []role) *cobra.Command {
	root := &cobra.Command{
		Use:   "pigeon",
		Short: "A two-layer job scheduler for short interactive jobs alongside long batch jobs",
		Long: `Pigeon schedules short interactive jobs alongside long batch jobs on one cluster.
Applications submit jobs to frontends, frontends split them among group masters, and
a master gives a task to a worker as soon as one is idle.`,
		Example: `  pigeon dev                             a whole cluster, here and now
  pigeon run -- echo hello               a program on it
  pigeon status                          where the newest jobs stand
  pigeon explain JOB                     why one waits, or why it failed
  pigeon top                             what the cluster does now
  pigeon doctor                          can this machine run a cluster?
  pigeon sim --trace gen:ec2             simulate a workload
  pigeon config write frontend           every setting, with its comment`,
		Annotations: verbsOfOthers(),
	}
	root.AddCommand(verbs(roles)...)
	help := cli.Complete(root)
	help.Example = "  pigeon help nodes drain\n  pigeon help connection      the flags of every verb that calls a cluster"
	show := help.RunE
	help.RunE = func(help *cobra.Command, words []string) error {
		if len(words) == 1 && words[0] == "connection" {
			_, err := fmt.Fprint(help.OutOrStdout(), connectionHelp())
			return err
		}
		return show(help, words)
	}
	return root
}

// verbsOfOthers are the commands of other batch systems, with the verbs that do the same.
func verbsOfOthers() map[string]string {
	return map[string]string{
		"sbatch": "submit", "qsub": "submit", "bsub": "submit",
		"srun":   "run",
		"squeue": "status", "qstat": "status", "bjobs": "status",
		"scancel": "cancel", "qdel": "cancel", "bkill": "cancel",
		"sinfo": "nodes", "pbsnodes": "nodes", "bhosts": "nodes",
		"sacct": "history", "bhist": "history", "qacct": "history",
		"sshare": "shares", "scontrol": "explain JOB' and 'pigeon node", "sattach": "logs -f", "sbcast": "submit --stage", "sgather": "files",
	}
}
