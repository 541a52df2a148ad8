package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// The cluster of the paper's EC2 experiment.
const paperWorkers, paperFrontends, paperMasters = 120, 10, 3

// limits are by how much live may be above or below simulated, by class: short, long.
var limits = [2]float64{0.05, 0.02}

// machineDelay is what a hop takes where the network has no delay, as of 'pigeon replay'.
const machineDelay = 100 * time.Microsecond

// figure repeats the paper's experiment on the hosts and in the simulator with the same delays, and
// prints how far they are apart. The error is that a figure is over its limit.
func (s *steps) figure(ctx context.Context) error {
	inventory, err := s.writePaperInventory()
	if err != nil {
		return err
	}
	delay := s.bed.delay
	if delay == 0 {
		delay = machineDelay
	}
	load := measure.WatchOthers()
	list, err := s.replayed(ctx, inventory, "--trace", s.opts.trace, "--speedup", fmt.Sprint(s.opts.speedup), "--compare-sim", "--delay", delay.String())
	if err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("the replay printed %d results in place of two", len(list))
	}
	live, sim := list[0], list[1]
	fmt.Fprintf(os.Stdout, "%s: %d of %d jobs completed live on %d workers of %d hosts, policy %s, speedup %g, delay %v simulated\n",
		live.Trace, live.Completed, live.Jobs, live.Workers, len(live.Hosts), live.Policy, s.opts.speedup, delay)
	fmt.Fprintln(os.Stdout, live.AboutClocks())
	if share, known := load.Share(); known {
		fmt.Fprintf(os.Stdout, "processor time of this machine that neither this program nor what it started used: %.0f %%\n", 100*share)
	}
	return errors.Join(printFigure(&live, &sim), s.nothingLeft(ctx))
}

// printFigure prints live over simulated next to the limits.
func printFigure(live, sim *measure.Result) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "class\tcompletion\tsimulated\tlive\tlive/simulated\tlimit\t\t")
	over := 0
	for class, name := range measure.ClassNames() {
		for _, of := range measure.Statistics() {
			if of.Name != "mean" && of.Name != "p99" {
				continue
			}
			simulated, lived := float64(of.Of(&sim.Class(class).Completion)), float64(of.Of(&live.Class(class).Completion))
			verdict := "within"
			if !(math.Abs(lived/simulated-1) <= limits[class]) { // so written, NaN is over
				verdict = "OVER"
				over++
			}
			fmt.Fprintf(w, "%s\t%s\t%.3f s\t%.3f s\t%.4f\t%.0f %%\t%s\t\n", name, of.Name, simulated, lived, lived/simulated, 100*limits[class], verdict)
		}
	}
	err := w.Flush()
	if over > 0 {
		err = errors.Join(err, fmt.Errorf("%d figures are over their limits; see first whether the machine had time for the hosts", over))
	}
	return err
}

// writePaperInventory writes an inventory with the workers as slots of nodes, evenly on all hosts.
func (s *steps) writePaperInventory() (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "cluster: paper\nsecurity: %s\nssh: {config: %s}\n%shosts:\n", s.opts.security, s.bed.sshConfig(), s.runAs())
	slotsOf := experiment.EvenGroups(paperWorkers, s.opts.hosts)
	for i := range s.opts.hosts {
		roles := "node"
		if i < paperMasters {
			roles += ", master"
		}
		if i < min(paperFrontends, s.opts.hosts) {
			roles += ", frontend"
		}
		fmt.Fprintf(&b, "  - {name: %s, address: %s, roles: [%s], slots: %d, group: %d}\n", s.nameOf(i+1), addressOf(i+1), roles, slotsOf[i], i%paperMasters)
	}
	path := filepath.Join(s.bed.folder, "paper.yaml")
	return path, os.WriteFile(path, b.Bytes(), 0o600)
}
