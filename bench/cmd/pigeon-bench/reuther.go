package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/reuther"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func reutherCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reuther",
		Short: "Launch programs, compared with other tools, by the method of Reuther et al. (2018)",
		Long: `Runs sets of tasks of constant length t, n for each slot with t x n constant, on
Pigeon and on its peers in turn, and prints total times and utilization ("Scalable system
scheduling for HPC and big data", sections 4 and 5). The paper's own setting is
--slots 1408 --work 240s --durations 1s,5s,30s,60s.

The floor is as many goroutines as there are slots, which start the programs without a
queue. pigeon-dev has all daemons in one process and no NATS server. The other peers are xargs,
GNU parallel and the job queues asynq (on Redis) and River (on PostgreSQL). Each is started for the
run on this machine alone, with its state in a temporary folder, and is gone afterwards. Peers that
are not installed are left out, and named; "make peers" installs what there is.`,
		Example: `  pigeon-bench reuther                                  a quarter of an hour
  pigeon-bench reuther --peers floor,pigeon --durations 0s --rounds 5
  pigeon-bench reuther --work 5s --durations 100ms,1s --rounds 1 --doc out/reuther.md`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	fs := cmd.Flags()
	plan := reuther.Plan{}
	fs.IntVar(&plan.Slots, "slots", 64, "slots, P")
	fs.DurationVar(&plan.Work, "work", 20*time.Second, "what each slot has to do in a set, t x n")
	durations := fs.StringSlice("durations", []string{"0s", "100ms", "500ms", "5s"}, "lengths of tasks, t; 0s is a set of --zero tasks a slot")
	fs.IntVar(&plan.Zero, "zero", 100, "tasks of length zero for each slot")
	fs.IntVar(&plan.Rounds, "rounds", 3, "measurements of each set, of which medians are taken")
	peers := fs.StringSlice("peers", []string{"floor", "pigeon", "xargs", "parallel"}, "what is measured: "+strings.Join(reuther.Names(), ", "))
	doc := fs.String("doc", "", "file for the same as a page of Markdown")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, text := range *durations {
			t, err := time.ParseDuration(text)
			if err != nil {
				return cli.AsUsageError(fmt.Errorf("--durations: %q is no duration; write 100ms or 1s", text))
			}
			plan.Durations = append(plan.Durations, t)
		}
		if err := plan.Check(); err != nil {
			return cli.AsUsageError(err)
		}
		list, err := reutherPeers(*peers)
		if err != nil {
			return cli.AsUsageError(err)
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		r, err := reuther.Run(cmd.Context(), plan, list, func(what string) { show.Linef("%s", what) })
		show.Clear()
		if err != nil {
			return err
		}
		if *doc != "" {
			if err := writeWhole(*doc, func(out io.Writer) error { return r.WriteReport(out, given(cmd)) }); err != nil {
				return err
			}
		}
		if *output == cli.OutputJSON {
			return cli.WriteJSON(cmd.OutOrStdout(), r)
		}
		return r.WriteText(cmd.OutOrStdout())
	}
	return cmd
}

// given returns the command with the flags that select what is measured.
func given(cmd *cobra.Command) string {
	text := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "doc" && f.Name != "output" {
			text += " --" + f.Name + "=" + strings.Trim(f.Value.String(), "[]")
		}
	})
	return text
}

// reutherPeers returns the peers of these names in the order of tables.
func reutherPeers(names []string) ([]reuther.Peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := reuther.Options{Peers: filepath.Join(filepath.Dir(self), "peers")}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("--peers: %s is given twice; nothing was run; leave one out", name)
		}
		if _, err := reuther.New(name, o); err != nil {
			return nil, fmt.Errorf("--peers: %w", err)
		}
	}
	var list []reuther.Peer
	for _, name := range reuther.Names() {
		if slices.Contains(names, name) {
			peer, err := reuther.New(name, o)
			if err != nil {
				return nil, err
			}
			list = append(list, peer)
		}
	}
	return list, nil
}
