package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/bench/spark"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/spf13/cobra"
)

func sparkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spark",
		Short: "Measure Spark on Pigeon against Spark standalone, as Markdown",
		Long: `Starts daemons of Pigeon, and Spark's own, on this machine, and runs the same driver
on both in turns: sleeping tasks on two slots (waves), and streams of short jobs
alongside a long job (sharing). Takes a quarter of an hour; nothing is left running.`,
		Example: `  pigeon-bench spark
  pigeon-bench spark --only waves --variant spark.pigeon.lease=false`,
		Args: cli.FlagsOnly,
	}
	fs := cmd.Flags()
	var o spark.Options
	fs.StringSliceVar(&o.Parts, "only", spark.Parts(), "parts that are measured")
	fs.IntVar(&o.Repeats, "repeats", 3, "of the longest waves; shorter ones are repeated more often")
	fs.Uint64Var(&o.Seed, "seed", 1, "of the times at which short jobs are submitted")
	fs.StringArrayVar(&o.Variants, "variant", nil, "setting of one more driver on Pigeon that runs the waves, key=value")
	fs.StringVar(&o.Dir, "data", "", "folder that keeps logs (default: a temporary one, removed at the end unless something fails)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if err := checkSpark(&o); err != nil {
			return cli.AsUsageError(err)
		}
		if err := findSpark(cmd, &o); err != nil {
			return cli.AsUsageError(err)
		}
		if o.Dir == "" {
			if o.Dir, err = os.MkdirTemp("", "pigeon-bench-spark-"); err != nil {
				return err
			}
			defer func() {
				if err == nil {
					err = os.RemoveAll(o.Dir)
				}
			}()
		} else if err := os.MkdirAll(o.Dir, 0o755); err != nil {
			return err
		}
		o.Progress = func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) }
		rows, err := spark.Run(cmd.Context(), o)
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "`pigeon-bench spark --repeats %d`, Spark %s. %s\n\n", o.Repeats, o.Home.Version, launch.Machine())
		if writing := spark.WriteTable(out, rows); err == nil {
			err = writing
		}
		return err
	}
	return cmd
}

func checkSpark(o *spark.Options) error {
	if o.Repeats < 1 || o.Repeats > 100 {
		return fmt.Errorf("--repeats %d is outside 1 to 100; nothing was measured", o.Repeats)
	}
	for _, part := range o.Parts {
		if !slices.Contains(spark.Parts(), part) {
			return fmt.Errorf("--only %q: there is no such part; the parts are %s; nothing was measured", part, strings.Join(spark.Parts(), ", "))
		}
	}
	for _, v := range o.Variants {
		if key, _, found := strings.Cut(v, "="); !found || !strings.HasPrefix(key, "spark.") {
			return fmt.Errorf("--variant %q is not spark.KEY=VALUE; nothing was measured", v)
		}
	}
	return nil
}

// findSpark finds the Spark, the plugin and the Java that are measured.
func findSpark(cmd *cobra.Command, o *spark.Options) (err error) {
	if o.Home, err = sparkhome.Runnable(cmd.Context(), os.Getenv); err != nil {
		return err
	}
	o.Jar, _, err = sparkhome.Plugin(o.Home, os.Getenv)
	return err
}
