package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The cluster of the paper's EC2 experiment.
const paperWorkers, paperFrontends, paperMasters = 120, 10, 3

// machineDelay is what a hop takes where the network has no delay, as of 'pigeon-bench replay'.
const machineDelay = 100 * time.Microsecond

// statistics are of completion times, in seconds.
type statistics struct {
	Mean float64 `json:"mean"`
	P99  float64 `json:"p99"`
}

// replayed is a result of 'pigeon-bench replay', as far as it is of use here.
type replayed struct {
	Jobs      int `json:"jobs"`
	Completed int `json:"completed"`
	Short     struct {
		Completion statistics `json:"completion"`
	} `json:"short"`
	Long struct {
		Completion statistics `json:"completion"`
	} `json:"long"`
}

// figure repeats the paper's experiment on the hosts and in the simulator with the same delays, and
// prints how far they are apart. The error is that a figure is over its limit.
func (s *steps) figure(ctx context.Context) error {
	if err := errors.Join(s.writePaperInventory(), s.makeToken(ctx)); err != nil {
		return err
	}
	if hosts, _, err := s.play(ctx, "site.yml"); err != nil {
		return fmt.Errorf("install: %v: %w", hosts, err)
	}
	delay := s.bed.delay
	if delay == 0 {
		delay = machineDelay
	}
	var frontends []string
	for i := range min(paperFrontends, s.opts.hosts) {
		frontends = append(frontends, addressOf(i+1)+":20503")
	}
	words := slices.Concat(s.environment(), []string{s.opts.bench, "replay", "--frontend", strings.Join(frontends, ","), "--trace", s.opts.trace,
		"--workers", fmt.Sprint(paperWorkers), "--groups", fmt.Sprint(paperMasters), "--frontends", fmt.Sprint(len(frontends)),
		"--speedup", fmt.Sprint(s.opts.speedup), "--compare-sim", "--delay", delay.String(), "-o", "json"})
	out, err := s.bed.operate(ctx, "env", words...)
	if err != nil {
		return err
	}
	var list []replayed
	for line := range strings.Lines(out) {
		var r replayed
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		list = append(list, r)
	}
	if len(list) != 2 {
		return fmt.Errorf("the replay printed %d results in place of two", len(list))
	}
	live, sim := list[0], list[1]
	fmt.Fprintf(os.Stdout, "%d of %d jobs completed live on %d workers of %d hosts, speedup %g, delay %v simulated\n", live.Completed, live.Jobs, paperWorkers, s.opts.hosts, s.opts.speedup, delay)
	return errors.Join(printFigure(&live, &sim), s.remove(ctx))
}

// printFigure prints live over simulated next to the limits, by how much live may be above or below.
func printFigure(live, sim *replayed) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "completion\tsimulated\tlive\tlive/simulated\tlimit\t\t")
	over := 0
	for _, r := range []struct {
		name      string
		sim, live float64
		limit     float64
	}{
		{"short mean", sim.Short.Completion.Mean, live.Short.Completion.Mean, 0.05},
		{"short p99", sim.Short.Completion.P99, live.Short.Completion.P99, 0.05},
		{"long mean", sim.Long.Completion.Mean, live.Long.Completion.Mean, 0.02},
		{"long p99", sim.Long.Completion.P99, live.Long.Completion.P99, 0.02},
	} {
		verdict := "within"
		if !(math.Abs(r.live/r.sim-1) <= r.limit) { // so written, NaN is over
			verdict = "OVER"
			over++
		}
		fmt.Fprintf(w, "%s\t%.3f s\t%.3f s\t%.4f\t%.0f %%\t%s\t\n", r.name, r.sim, r.live, r.live/r.sim, 100*r.limit, verdict)
	}
	err := w.Flush()
	if over > 0 {
		err = errors.Join(err, fmt.Errorf("%d figures are over their limits; see first whether the machine had time for the hosts", over))
	}
	return err
}

// writePaperInventory writes an inventory with the workers as slots of nodes, evenly on all hosts.
func (s *steps) writePaperInventory() error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "cluster: bed\npolicy: pigeon\nsecurity: %s\nservice_manager: none\nssh: {config: %s}\nsettings: {%s}\nhosts:\n", s.opts.security, s.bed.sshConfig(), strings.TrimPrefix(s.runAs(), ", "))
	for i := range s.opts.hosts {
		roles := "node"
		if i < paperMasters {
			roles += ", master"
		}
		if i < min(paperFrontends, s.opts.hosts) {
			roles += ", frontend"
		}
		slots := paperWorkers / s.opts.hosts
		if i < paperWorkers%s.opts.hosts {
			slots++
		}
		fmt.Fprintf(&b, "  - {name: %s, address: %s, roles: [%s], slots: %d, group: %d}\n", s.nameOf(i+1), addressOf(i+1), roles, slots, i%paperMasters)
	}
	return os.WriteFile(filepath.Clean(s.inventory()), b.Bytes(), 0o600)
}
