package connect

import (
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/spf13/pflag"
)

// connectionFlags returns the flags that tell a verb where its cluster is and who calls.
func connectionFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	if err := config.Flags(fs, DefaultClient().ClusterConfig); err != nil {
		panic(err) // a struct with wrong tags; every test of a verb meets it
	}
	return fs
}

// HideFlags hides those flags of a verb, or shows them again, and reports whether it has any: ten long
// lines on every page would hide what the verb is about.
func HideFlags(fs *pflag.FlagSet, hidden bool) bool {
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

// Help is the page of "pigeon help connection".
func Help() string {
	return "Every verb that calls a cluster takes these flags; each is also a setting of client.yaml and a variable\n(--retry-for is retry_for and PIGEON_RETRY_FOR).\n\nFlags:\n" + connectionFlags().FlagUsages()
}
