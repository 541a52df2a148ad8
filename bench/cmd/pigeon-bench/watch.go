package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/watch"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/spf13/cobra"
)

// watchFlags are those of "pigeon-bench watch".
type watchFlags struct {
	out     string
	titles  []string
	cutoff  time.Duration
	speedup float64
	until   time.Duration
	queues  string
}

func watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "watch HISTORY...",
		GroupID: cli.GroupMeasure,
		Short:   "Write an HTML page that plays histories: workers, queues and time",
		Long: `Reads histories, simulated (pigeon sim --history) or live (pigeon-bench replay --history),
and writes one HTML file that needs nothing else: a grid of workers coloured by
class, where tasks wait, and a slider for time. Several histories play side by side.`,
		Example: `  pigeon-bench watch pigeon.jsonl sparrow.jsonl --out both.html
  pigeon-bench watch live.jsonl --speedup 10`,
		Args: cli.NamesAtLeastOne("history"),
	}
	var f watchFlags
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", "watch.html", "file to write")
	fs.StringArrayVar(&f.titles, "title", nil, "title of a history, once for each (default: its file)")
	fs.DurationVar(&f.cutoff, "cutoff", time.Second, "a job is short when its tasks ran at most this on average, in the workload's own time")
	fs.Float64Var(&f.speedup, "speedup", 1, "multiply times by this: that of the live run")
	fs.DurationVar(&f.until, "until", 0, "end the picture at this time (0 = with the history)")
	fs.StringVar(&f.queues, "queues", "", "where tasks wait, group or worker (default: as in the history; of a live one, group)")
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if err := cmp.Or(f.check(len(paths)), simulation.CheckOutput("--out", f.out, paths...)); err != nil {
			return cli.AsUsageError(err)
		}
		var all []*watch.Recording
		for i, path := range paths {
			r, err := f.read(path, i)
			if err != nil {
				return cli.AsUsageError(err)
			}
			all = append(all, r)
		}
		return writePage(cmd.OutOrStdout(), f.out, all)
	}
	return cmd
}

func (f *watchFlags) check(histories int) error {
	switch {
	case histories > watch.MaxRecordings:
		return fmt.Errorf("%d histories are named, and a page plays %d at most; nothing was written; name fewer", histories, watch.MaxRecordings)
	case f.cutoff <= 0:
		return fmt.Errorf("--cutoff %v is not above 0s", f.cutoff)
	case f.until < 0:
		return fmt.Errorf("--until %v is below 0s", f.until)
	case f.queues != "" && watch.Queues(f.queues) != watch.AtGroup && watch.Queues(f.queues) != watch.AtWorker:
		return fmt.Errorf("--queues %q is neither %s nor %s", f.queues, watch.AtGroup, watch.AtWorker)
	case len(f.titles) > 0 && len(f.titles) != histories:
		return fmt.Errorf("%d titles for %d histories; give --title once for each", len(f.titles), histories)
	}
	return simulation.CheckSpeedup(f.speedup)
}

func (f *watchFlags) read(path string, i int) (*watch.Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the history cannot be opened: %w; nothing was written; make one with pigeon sim --history FILE", err)
	}
	defer func() { _ = file.Close() }() // only read
	o := watch.Options{Title: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Cutoff: f.cutoff, Speedup: f.speedup, Until: f.until, Queues: watch.Queues(f.queues)}
	if len(f.titles) > 0 {
		o.Title = f.titles[i]
	}
	return watch.Read(file, path, o)
}

// writePage writes the file and prints where it is.
func writePage(out io.Writer, path string, all []*watch.Recording) error {
	file, err := os.Create(path)
	if err != nil {
		return cli.AsUsageError(fmt.Errorf("the page cannot be written: %w; name another place", err))
	}
	if err := errors.Join(watch.Write(file, all), file.Close()); err != nil {
		return fmt.Errorf("the page %s is incomplete: %w", path, err)
	}
	return printPage(out, path)
}

func printPage(out io.Writer, path string) error {
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	size := ""
	if info, err := os.Stat(path); err == nil {
		size = fmt.Sprintf(" (%d KiB)", (info.Size()+1023)/1024)
	}
	_, err = fmt.Fprintf(out, "written: %s%s; open it in a browser\n", full, size)
	return err
}
