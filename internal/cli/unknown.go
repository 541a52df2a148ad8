package cli

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
	GroupJobs    = "jobs"
	GroupWatch   = "watch"
	GroupCluster = "cluster"
	GroupAccess  = "access"
	GroupMeasure = "measure"
	GroupSelf    = "self"
)

// Complete completes a root whose verbs are added: groups, the help, and errors that name the nearest verb
// or flag.
func Complete(root *cobra.Command) (help *cobra.Command) {
	root.Version = CurrentVersion().String()
	root.SilenceErrors = true // execute prints them
	root.SilenceUsage = true  // a page of help hides the error
	root.SetVersionTemplate("{{.Version}}\n")
	addGroups(root)
	root.SetHelpCommandGroupID(GroupSelf)
	root.SetCompletionCommandGroupID(GroupSelf)
	root.SetFlagErrorFunc(ExplainFlag)
	refuseUnknownVerbs(root)
	return helpOnKnownVerbs(root)
}

// addGroups adds the groups that have a verb; cobra shows empty ones too.
func addGroups(root *cobra.Command) {
	for _, g := range []cobra.Group{
		{ID: GroupJobs, Title: "Submit jobs and follow them:"},
		{ID: GroupWatch, Title: "See what happens:"},
		{ID: GroupCluster, Title: "Run a cluster:"},
		{ID: GroupAccess, Title: "Who may do what:"},
		{ID: GroupMeasure, Title: "Simulate and measure:"},
		{ID: GroupSelf, Title: "Pigeon itself:"},
	} {
		for _, c := range root.Commands() {
			if c.GroupID == g.ID {
				root.AddGroup(&g)
				break
			}
		}
	}
}

// refuseUnknownVerbs makes every command that has others below it name the nearest of them to a word that
// is none. One that only groups others shows its help.
func refuseUnknownVerbs(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		refuseUnknownVerbs(child)
	}
	if !cmd.HasSubCommands() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return AsUsageError(unknownVerb(cmd, args[0]))
		}
		return nil
	}
	if !cmd.Runnable() {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// helpOnKnownVerbs has "help WORD" name the verb that was perhaps meant: cobra shows the help
// of what was found before the unknown word. It returns the verb "help".
func helpOnKnownVerbs(root *cobra.Command) *cobra.Command {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil || help == root {
		panic("cobra has no verb help")
	}
	help.RunE = func(help *cobra.Command, words []string) error {
		cmd, rest, err := root.Find(words)
		if err != nil {
			return AsUsageError(err)
		}
		if len(rest) > 0 {
			return AsUsageError(unknownVerb(cmd, rest[0]))
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
	return help
}

func unknownVerb(cmd *cobra.Command, word string) error {
	if verb := cmd.Annotations[word]; verb != "" {
		return fmt.Errorf("%q is not a verb of %q; its work is done by '%[2]s %s' (docs/jobs.md, \"For users of Slurm\")", word, cmd.CommandPath(), verb)
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return unknownWord(cmd, strconv.Quote(word), "verb", nearest.Close(word, names))
}

// ExplainFlag turns an error of pflag into wrong use that names the nearest flag, or why a value
// is refused.
func ExplainFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return AsUsageError(explainValue(invalid))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return AsUsageError(err)
	}
	// "pigeon simm --trace x" fails here, on the flag, but the verb is wrong.
	if cmd.HasSubCommands() {
		if word := cmd.Flags().Arg(0); word != "" {
			return AsUsageError(unknownVerb(cmd, word))
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
		return AsUsageError(fmt.Errorf("-%s is not a flag of %q; its flags are %s", given, cmd.CommandPath(), strings.Join(names, ", ")))
	}
	return AsUsageError(unknownWord(cmd, "--"+given, "flag", nearest.Close("--"+given, names)))
}

// unknownWord is the error for a verb or a flag that a command does not have. It names the one that was
// perhaps meant, "" where none is near.
func unknownWord(cmd *cobra.Command, given, kind, meant string) error {
	what := fmt.Sprintf("%s is not a %s of %q", given, kind, cmd.CommandPath())
	if meant == "" {
		return fmt.Errorf("%s, and resembles none; see '%s --help'", what, cmd.CommandPath())
	}
	if !strings.HasPrefix(meant, "--") {
		meant = strconv.Quote(meant)
	}
	return fmt.Errorf("%s; the nearest is %s", what, meant)
}
