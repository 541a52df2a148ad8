package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/reuther"
	"github.com/spf13/cobra"
)

func benchReuther() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reuther",
		Short: "Launch programs beside other tools, by the method of Reuther et al. (2018)",
		Long: `Runs sets of tasks of constant length t, n for each slot with t x n constant, on
Pigeon and on its peers in turn, and prints total times, utilization and the model's two
parameters: marginal latency t_s and exponent alpha_s, of T_total - t n = t_s n^alpha_s
("Scalable system scheduling for HPC and big data", sections 4 and 5). The paper's own
setting is --slots 1408 --work 240s --durations 1s,5s,30s,60s.

The floor is as many goroutines as there are slots, which start the programs without a
queue. Peers that are not installed are left out, and named.`,
		Example: `  pigeon bench reuther                                  a quarter of an hour
  pigeon bench reuther --peers floor,pigeon --durations 0s --rounds 5
  pigeon bench reuther --work 5s --durations 100ms,1s --rounds 1 --out out/reuther`,
		Args: cobra.NoArgs,
	}
	output := addOutput(cmd)
	fs := cmd.Flags()
	plan := reuther.Plan{}
	fs.IntVar(&plan.Slots, "slots", 64, "slots, P")
	fs.DurationVar(&plan.Work, "work", 20*time.Second, "what each slot has to do in a set, t x n")
	durations := fs.StringSlice("durations", []string{"0s", "100ms", "500ms", "5s"}, "lengths of tasks, t; 0s is a set of --zero tasks a slot")
	fs.IntVar(&plan.Zero, "zero", 100, "tasks of length zero for each slot")
	fs.BoolVar(&plan.Variable, "variable", false, "beside each set one with exponentially distributed lengths of the same mean")
	fs.IntVar(&plan.Multilevel, "multilevel", 0, "beside each set one whose launches run so many tasks, one after another")
	fs.IntVar(&plan.Rounds, "rounds", 3, "measurements of each set, of which medians are taken")
	fs.Uint64Var(&plan.Seed, "seed", 1, "seed of variable lengths")
	peers := fs.StringSlice("peers", reuther.Names(), "what is measured: "+strings.Join(reuther.Names(), ", "))
	out := fs.String("out", "", "folder for report.md and figures")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, text := range *durations {
			t, err := time.ParseDuration(text)
			if err != nil {
				return wrongUse(fmt.Errorf("--durations: %q is no duration; write 100ms or 1s", text))
			}
			plan.Durations = append(plan.Durations, t)
		}
		if err := plan.Check(); err != nil {
			return wrongUse(err)
		}
		slices.Sort(*peers)
		var list []reuther.Peer
		for _, name := range slices.Compact(*peers) {
			peer, err := reuther.New(name)
			if err != nil {
				return wrongUse(fmt.Errorf("--peers: %w", err))
			}
			list = append(list, peer)
		}
		show := newProgress(cmd.ErrOrStderr())
		r, err := reuther.Run(cmd.Context(), plan, list, func(what string) { show.linef("%s", what) })
		show.clear()
		if err != nil {
			return err
		}
		if *out != "" {
			if err := writeReuther(r, *out); err != nil {
				return err
			}
		}
		if *output == outputJSON {
			return writeJSON(cmd.OutOrStdout(), r)
		}
		return r.WriteText(cmd.OutOrStdout())
	}
	return cmd
}

// writeReuther writes the page and its figures.
func writeReuther(r *reuther.Result, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	figures := ""
	if drawn, err := r.WriteFigures(folder); err != nil {
		return err
	} else if drawn {
		figures = "./"
	}
	f, err := os.Create(filepath.Join(folder, "report.md"))
	if err != nil {
		return err
	}
	err = r.WriteReport(f, "pigeon bench reuther", figures)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
