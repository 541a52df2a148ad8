package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// namesAtLeastOne checks the arguments of a verb that takes one job or node, or several.
func namesAtLeastOne(what string) cobra.PositionalArgs {
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

// namesOne checks those of a verb that takes one.
func namesOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("name one %s only, not %d (%s): %s", what, len(args), strings.Join(args, ", "), usage(cmd))
		}
		return namesAtLeastOne(what)(cmd, args)
	}
}

// namesFirst checks those of a verb that takes one first, and others after it.
func namesFirst(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return namesAtLeastOne(what)(cmd, args[:min(1, len(args))])
	}
}

// namesTwo checks those of a verb that takes two; what is their plural.
func namesTwo(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return fmt.Errorf("name two %s, not %d: %s", what, len(args), usage(cmd))
		}
		return nil
	}
}

// flagsOnly checks those of a verb that takes none.
func flagsOnly(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only, and %q is none", cmd.CommandPath(), args[0])
	}
	return nil
}
