// Package cli has what the command lines of pigeon and pigeon-bench share: exit statuses and errors that
// name the next step, the nearest verb or flag, output as text or JSON, tables and progress.
package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// NamesAtLeastOne checks the arguments of a verb that takes one job or node, or several.
func NamesAtLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("name a %s: %s", what, usage(cmd))
		case slices.Contains(args, ""): // a variable that a script has not set
			return fmt.Errorf("the name of a %s is empty; name a %[1]s: %s", what, usage(cmd))
		}
		return nil
	}
}

// usage is how a verb is written, without its flags.
func usage(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// NamesOne checks those of a verb that takes one.
func NamesOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("name one %s only, not %d (%s): %s", what, len(args), strings.Join(args, ", "), usage(cmd))
		}
		return NamesAtLeastOne(what)(cmd, args)
	}
}

// NamesFirst checks those of a verb that takes one first, and others after it.
func NamesFirst(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return NamesAtLeastOne(what)(cmd, args[:min(1, len(args))])
	}
}

// FlagsOnly checks those of a verb that takes none.
func FlagsOnly(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only, and %q is none", cmd.CommandPath(), args[0])
	}
	return nil
}
