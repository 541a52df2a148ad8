package main

import (
	"fmt"
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

func benchReuther() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reuther",
		Short: "Launch programs, compared with other tools, by the method of Reuther et al. (2018)",
		Long: `Runs sets of tasks of constant length t, n for each slot with t x n constant, on
Pigeon and on its peers in turn, and prints total times, utilization and the model's two
parameters: marginal latency t_s and exponent alpha_s, of T_total - t n = t_s n^alpha_s
("Scalable system scheduling for HPC and big data", sections 4 and 5). The paper's own
setting is --slots 1408 --work 240s --durations 1s,5s,30s,60s.

The floor is as many goroutines as there are slots, which start the programs without a
queue. pigeon-dir is Pigeon with one working folder for all tasks, as the other peers have it;
pigeon-dev has all daemons in one process and no NATS server. The other peers are xargs, GNU parallel, task-spooler, the job
queues asynq (on Redis) and River (on PostgreSQL), Slurm and Grid Engine. Each is started for the
run on this machine alone, with its state in a temporary folder, and is gone afterwards. Peers that
are not installed are left out, and named; "make peers" installs what there is.`,
		Example: `  pigeon-bench reuther                                  a quarter of an hour
  pigeon-bench reuther --peers floor,pigeon --durations 0s --rounds 5
  pigeon-bench reuther --work 5s --durations 100ms,1s --rounds 1 --out out/reuther`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	fs := cmd.Flags()
	plan := reuther.Plan{}
	fs.IntVar(&plan.Slots, "slots", 64, "slots, P")
	fs.DurationVar(&plan.Work, "work", 20*time.Second, "what each slot has to do in a set, t x n")
	durations := fs.StringSlice("durations", []string{"0s", "100ms", "500ms", "5s"}, "lengths of tasks, t; 0s is a set of --zero tasks a slot")
	fs.IntVar(&plan.Zero, "zero", 100, "tasks of length zero for each slot")
	fs.BoolVar(&plan.Variable, "variable", false, "with each set, one with exponentially distributed lengths of the same mean")
	fs.IntVar(&plan.Multilevel, "multilevel", 0, "with each set, one whose launches run this many tasks, one after another")
	fs.IntVar(&plan.Rounds, "rounds", 3, "measurements of each set, of which medians are taken")
	fs.Uint64Var(&plan.Seed, "seed", 1, "seed of variable lengths")
	peers := fs.StringSlice("peers", []string{"floor", "pigeon", "xargs", "parallel"}, "what is measured: "+strings.Join(reuther.Names(), ", "))
	options := reuther.Options{}
	fs.StringVar(&options.Peers, "peers-binary", "", "the program of the peers asynq and river (default: peers, beside this program)")
	out := fs.String("out", "", "folder for report.md and figures")
	doc := fs.String("doc", "", "file for the same page, with its figures in a folder of its name")
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
		list, err := reutherPeers(*peers, options)
		if err != nil {
			return cli.AsUsageError(err)
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		r, err := reuther.Run(cmd.Context(), plan, list, func(what string) { show.Linef("%s", what) })
		show.Clear()
		if err != nil {
			return err
		}
		if *out != "" {
			if err := writeReuther(r, given(cmd), filepath.Join(*out, "report.md"), *out, "./"); err != nil {
				return err
			}
		}
		if *doc != "" {
			figures := strings.TrimSuffix(*doc, filepath.Ext(*doc))
			if err := writeReuther(r, given(cmd), *doc, figures, filepath.Base(figures)+"/"); err != nil {
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
		if f.Name != "out" && f.Name != "doc" && f.Name != "output" && f.Name != "peers-binary" {
			text += " --" + f.Name + "=" + strings.Trim(f.Value.String(), "[]")
		}
	})
	return text
}

// reutherPeers returns the peers of these names in the order of tables.
func reutherPeers(names []string, o reuther.Options) ([]reuther.Peer, error) {
	if o.Peers == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		o.Peers = filepath.Join(filepath.Dir(self), "peers")
	}
	known := reuther.Names()
	var list []reuther.Peer
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("--peers: %s is given twice; nothing was run; leave one out", name)
		}
		if _, err := reuther.New(name, o); err != nil {
			return nil, fmt.Errorf("--peers: %w", err)
		}
	}
	for _, name := range known {
		if !slices.Contains(names, name) {
			continue
		}
		peer, err := reuther.New(name, o)
		if err != nil {
			return nil, err
		}
		list = append(list, peer)
	}
	return list, nil
}

// writeReuther writes the page and its figures. link is the folder of the figures as the page
// names it.
func writeReuther(r *reuther.Result, command, page, figures, link string) error {
	if err := os.MkdirAll(figures, 0o777); err != nil {
		return err
	}
	drawn, err := r.WriteFigures(figures)
	if err != nil {
		return err
	}
	if !drawn {
		link = ""
	}
	f, err := os.Create(page)
	if err != nil {
		return err
	}
	err = r.WriteReport(f, command, link)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
