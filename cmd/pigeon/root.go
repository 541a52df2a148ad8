package main

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/access"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/clusters"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/daemons"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/dev"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/doctor"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/show"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/nodes"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/spark"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/spf13/cobra"
)

// verbs lists every verb.
func verbs(roles []connect.Role) []*cobra.Command {
	return []*cobra.Command{
		dev.Command(),
		daemons.FrontendCommand(),
		daemons.MasterCommand(),
		daemons.NodeMonitorCommand(),
		daemons.NATSCommand(),
		clusters.Command(),
		nodes.Command(),
		access.PKICommand(),
		access.TokenCommand(),
		nodes.SharesCommand(),
		jobs.SubmitCommand(),
		jobs.RunCommand(),
		show.StatusCommand(),
		nodes.TopCommand(),
		access.WhoamiCommand(),
		show.ExplainCommand(),
		show.LogsCommand(),
		jobs.FilesCommand(),
		show.HistoryCommand(),
		nodes.EventsCommand(),
		jobs.CancelCommand(),
		spark.Command(),
		simulation.Command(),
		daemons.ConfigCommand(roles),
		doctor.Command(),
		cli.VersionCommand(cli.GroupSelf),
	}
}

func newRoot(roles []connect.Role) *cobra.Command {
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
			_, err := fmt.Fprint(help.OutOrStdout(), connect.Help())
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
