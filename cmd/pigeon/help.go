package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pigeon-sched/pigeon/internal/config"
)

// connectionFlags returns the flags by which a verb finds its cluster and proves who calls.
func connectionFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	if err := config.Flags(fs, defaultClient().clusterConfig); err != nil {
		panic(err) // a struct with wrong tags; every test of a verb meets it
	}
	return fs
}

// hideConnection hides those flags of a verb, or shows them again, and reports whether it has any: ten long
// lines on every page would hide what the verb is about.
func hideConnection(fs *pflag.FlagSet, hidden bool) bool {
	if fs.Lookup("frontend") == nil || fs.Lookup("retry-for") == nil {
		return false // a daemon, whose flags of these names are settings of its own
	}
	connectionFlags().VisitAll(func(c *pflag.Flag) {
		if f := fs.Lookup(c.Name); f != nil {
			f.Hidden = hidden
		}
	})
	return true
}

// connectionHelp is the page of "pigeon help connection".
func connectionHelp() string {
	return "Every verb that calls a cluster takes these flags; each is also a setting of client.yaml and a variable\n(--retry-for is retry_for and PIGEON_RETRY_FOR).\n\nFlags:\n" + connectionFlags().FlagUsages()
}

// keepHelpFault has the help of all verbs written in one piece, and returns where the error is when
// that fails: cobra drops it, and a full disk would have an empty page that seems to be all of it.
func keepHelpFault(root *cobra.Command) *error {
	var fault error
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var page bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&page)
		connects := hideConnection(cmd.Flags(), true)
		show(cmd, args)
		hideConnection(cmd.Flags(), false)
		cmd.SetOut(out)
		text := strings.ReplaceAll(page.String(), "[=true|false]", strings.Repeat(" ", len("[=true|false]"))) // columns stay
		if connects {
			text = strings.TrimRight(text, "\n") + "\n\nFlags of the connection (--frontend, --timeout, --token-file, ...): pigeon help connection\n"
		}
		if _, err := io.WriteString(out, text); err != nil {
			fault = fmt.Errorf("output could not be written: %w", err)
		}
	})
	return &fault
}
