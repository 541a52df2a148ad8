package main

import (
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The budget of what a user meets (docs/adr/0078-budget.md). A number is raised only together with a
// decision that names what went in its place.
const (
	verbBudget    = 27  // of "pigeon help"
	commandBudget = 66  // with those below them
	flagBudget    = 188 // of all commands, without those that stand for settings
	settingBudget = 60  // that help and written files show, of all roles
)

func TestBudget(t *testing.T) {
	t.Parallel()
	settings, shown := map[string]bool{"config": true}, map[string]bool{}
	for _, r := range connect.Roles() {
		keys, err := r.Keys()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			settings[k.Flag] = true
			if k.Common {
				shown[k.Path] = true
			}
		}
	}
	verbs, commands, flags := 0, 0, 0
	var count func(cmd *cobra.Command, depth int)
	count = func(cmd *cobra.Command, depth int) {
		if cmd.Hidden {
			return
		}
		if depth == 1 {
			verbs++
		}
		if cmd.Runnable() && depth > 0 {
			commands++
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && !settings[f.Name] {
				flags++
			}
		})
		for _, child := range cmd.Commands() {
			count(child, depth+1)
		}
	}
	count(newRoot(connect.Roles()), 0)
	for _, c := range []struct {
		what     string
		n, bound int
	}{{"verbs", verbs, verbBudget}, {"commands", commands, commandBudget}, {"flags", flags, flagBudget}, {"settings that are shown", len(shown), settingBudget}} {
		t.Logf("%d %s", c.n, c.what)
		if c.n > c.bound {
			t.Errorf("pigeon has %d %s, more than %d; take something away, or raise the budget together with a decision that names what went in its place (docs/adr/0078-budget.md)", c.n, c.what, c.bound)
		}
	}
}
