package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// Groups of verbs in the help, in the order shown.
const (
	groupJobs    = "jobs"
	groupWatch   = "watch"
	groupCluster = "cluster"
	groupAccess  = "access"
	groupMeasure = "measure"
	groupSelf    = "self"
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
		nodeCommand(),
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
		simCommand(),
		replayCommand(),
		compareCommand(),
		modelCommand(),
		watchCommand(),
		benchCommand(),
		traceCommand(),
		configCommand(roles),
		doctorCommand(),
		manCommand(),
		versionCommand(),
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
  pigeon trace inspect gen:ec2           what is in a workload
  pigeon config write frontend           every setting, with its comment`,
		Version:       currentVersion().String(),
		SilenceErrors: true, // execute prints them
		SilenceUsage:  true, // a page of help hides the error
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(verbs(roles)...)
	addGroups(root)
	root.SetHelpCommandGroupID(groupSelf)
	root.SetCompletionCommandGroupID(groupSelf)
	root.SetFlagErrorFunc(explainFlag)
	refuseUnknownVerbs(root)
	helpOnKnownVerbs(root)
	return root
}

// addGroups adds the groups that have a verb; cobra shows empty ones too.
func addGroups(root *cobra.Command) {
	for _, g := range []cobra.Group{
		{ID: groupJobs, Title: "Submit jobs and follow them:"},
		{ID: groupWatch, Title: "See what happens:"},
		{ID: groupCluster, Title: "Run a cluster:"},
		{ID: groupAccess, Title: "Who may do what:"},
		{ID: groupMeasure, Title: "Simulate and measure:"},
		{ID: groupSelf, Title: "Pigeon itself:"},
	} {
		for _, c := range root.Commands() {
			if c.GroupID == g.ID {
				root.AddGroup(&g)
				break
			}
		}
	}
}

// refuseUnknownVerbs makes every command that only groups others name the
// nearest of them; alone it shows its help.
func refuseUnknownVerbs(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		refuseUnknownVerbs(child)
	}
	if !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return wrongUse(unknownVerb(cmd, args[0]))
	}
}

// helpOnKnownVerbs has "pigeon help WORD" name the verb that was perhaps meant: cobra shows the help
// of what was found before the unknown word.
func helpOnKnownVerbs(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil || help == root {
		return
	}
	help.Example = "  pigeon help node drain\n  pigeon help connection      the flags of every verb that calls a cluster"
	help.RunE = func(help *cobra.Command, words []string) error {
		if len(words) == 1 && words[0] == "connection" {
			_, err := fmt.Fprint(help.OutOrStdout(), connectionHelp())
			return err
		}
		cmd, rest, err := root.Find(words)
		if err != nil {
			return wrongUse(err)
		}
		if len(rest) > 0 {
			return wrongUse(unknownVerb(cmd, rest[0]))
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
}

// verbsOfOthers are the commands of other batch systems, with the verbs that do the same.
var verbsOfOthers = map[string]string{
	"sbatch": "submit", "qsub": "submit", "bsub": "submit",
	"srun":   "run",
	"squeue": "status", "qstat": "status", "bjobs": "status",
	"scancel": "cancel", "qdel": "cancel", "bkill": "cancel",
	"sinfo": "nodes", "pbsnodes": "nodes", "bhosts": "nodes",
	"sacct": "history", "bhist": "history", "qacct": "history",
	"sshare": "shares", "scontrol": "explain JOB' and 'pigeon node", "sattach": "logs -f", "sbcast": "submit --stage", "sgather": "files",
}

func unknownVerb(cmd *cobra.Command, word string) error {
	if verb := verbsOfOthers[word]; verb != "" && !cmd.HasParent() {
		return fmt.Errorf("%q is not a verb of \"pigeon\"; its work is done by 'pigeon %s' (docs/jobs.md, \"For users of Slurm\")", word, verb)
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return notThere(cmd, strconv.Quote(word), "verb", nearest.Close(word, names))
}

// explainFlag turns an error of pflag into wrong use that names the nearest flag, or why a value
// is refused.
func explainFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return wrongUse(explainValue(invalid))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return wrongUse(err)
	}
	// "pigeon simm --trace x" fails here, on the flag, but the verb is wrong.
	if cmd.HasSubCommands() {
		if word := cmd.Flags().Arg(0); word != "" {
			return wrongUse(unknownVerb(cmd, word))
		}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	given := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return wrongUse(fmt.Errorf("-%s is not a flag of %q; its flags are %s", given, cmd.CommandPath(), strings.Join(names, ", ")))
	}
	return wrongUse(notThere(cmd, "--"+given, "flag", nearest.Close("--"+given, names)))
}

// notThere is the error for a verb or a flag that a command does not have. It names the one that was
// perhaps meant, "" where none is near.
func notThere(cmd *cobra.Command, given, kind, meant string) error {
	what := fmt.Sprintf("%s is not a %s of %q", given, kind, cmd.CommandPath())
	if meant == "" {
		return fmt.Errorf("%s, and resembles none; see '%s --help'", what, cmd.CommandPath())
	}
	if !strings.HasPrefix(meant, "--") {
		meant = strconv.Quote(meant)
	}
	return fmt.Errorf("%s; the nearest is %s", what, meant)
}
