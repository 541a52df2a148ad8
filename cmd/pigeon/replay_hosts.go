package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/spark/sparkreplay"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/clusters"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/spf13/pflag"
)

// hostFlags are those of live runs on the hosts of an inventory.
type hostFlags struct {
	file     string
	program  string
	parallel int
	clear    bool
	sum      string // SHA-256 of the inventory

	inventory *hosts.Inventory // nil without --hosts
	said      io.Writer        // for each step on the hosts
}

func addHostFlags(fs *pflag.FlagSet) *hostFlags {
	h := &hostFlags{}
	fs.StringVar(&h.program, "program", "", "the pigeon that the hosts run (default: this one)")
	fs.IntVar(&h.parallel, "parallel", 10, "hosts at a time that are prepared and cleaned up")
	fs.BoolVar(&h.clear, "clear-hosts", false, "before that, remove from the hosts what a run has left that could not clean up")
	return h
}

// hostsDecide are the flags that the inventory replaces, and hostsLack those that clusters on
// hosts do not have.
var (
	hostsDecide = []string{"workers", "groups", "group-sizes", "frontends"}
	hostsLack   = []string{"isolation", "frontend", "demo", shareFlag, "half-life", "owners-file"}
)

// adopt reads the inventory and sets the sizes of the cluster to those that it has.
func (h *hostFlags) adopt(e *experimentFlags) error {
	if h.file == "" {
		for _, flag := range []string{"program", "parallel", "clear-hosts"} {
			if e.flags.Changed(flag) {
				return fmt.Errorf("--%s is of runs on hosts; nothing was run; add --hosts INVENTORY, or leave it out", flag)
			}
		}
		return nil
	}
	for _, flag := range hostsDecide {
		if e.flags.Changed(flag) {
			return fmt.Errorf("--%s is set with --hosts %s, which says how many there are; nothing was run; leave --%s out, or change the inventory", flag, h.file, flag)
		}
	}
	for _, flag := range hostsLack {
		if e.flags.Changed(flag) {
			return fmt.Errorf("--%s is not for clusters on hosts; nothing was run; leave it out, or --hosts (what daemons on hosts shall have beyond the run's flags stands in the settings of the inventory)", flag)
		}
	}
	if h.parallel < 1 {
		return fmt.Errorf("--parallel is %d; nothing was run; use 1 or more", h.parallel)
	}
	inv, err := hosts.Read(h.file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(h.file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	h.inventory, h.sum = inv, hex.EncodeToString(sum[:])
	e.sizes, e.desc.Frontends = clusters.Sizes(inv)
	if h.program == "" {
		if h.program, err = os.Executable(); err != nil {
			return fmt.Errorf("this program cannot be found: %w; name one with --program", err)
		}
	}
	return nil
}

// checkPolicies refuses policies that the hosts cannot have.
func (h *hostFlags) checkPolicies(d experiment.Description, policies []string) error {
	d.Trace, d.Workload, d.Policies, d.Seeds = "gen:ec2,jobs=2", workload.Options{}, policies, 1
	runs, err := d.Runs()
	if err != nil {
		return err
	}
	return h.check(runs)
}

// check refuses runs that the hosts cannot have.
func (h *hostFlags) check(runs []experiment.Run) error {
	for i := range runs {
		if h.inventory == nil {
			return nil
		}
		if _, err := clusters.ForRun(h.inventory, &runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Name names what the outcome of a run depends on.
func (h *hostFlags) Name() string { return "hosts " + h.sum }

// Run makes one live run on the hosts, from nothing to nothing. The figures are those of the hosts.
func (h *hostFlags) Run(ctx context.Context, run *experiment.Run, w *workload.Workload, progress func(replay.Progress)) (*replay.Measured, []measure.HostClock, error) {
	return h.on(ctx, run, progress, func(c *clusters.Temporary, before []clusters.Clock, drawn func(replay.Progress)) (m *replay.Measured, after []clusters.Clock, err error) {
		m, err = replay.OnHosts(ctx, run, w, c, drawn, func(ctx context.Context) ([]replay.HistoryFile, error) {
			if after, err = c.Clocks(); err != nil {
				return nil, err
			}
			return c.Histories(ctx, before)
		})
		return m, after, err
	})
}

// runSpark is Run with Spark applications on the hosts of the frontends in turn.
func (h *hostFlags) runSpark(ctx context.Context, run *experiment.Run, w *workload.Workload, at sparkreplay.Remote, o sparkreplay.Options) (*replay.Measured, []measure.HostClock, error) {
	return h.on(ctx, run, o.Progress, func(c *clusters.Temporary, _ []clusters.Clock, drawn func(replay.Progress)) (*replay.Measured, []clusters.Clock, error) {
		places, err := c.DriverHosts(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range places {
			o.Programs = append(o.Programs, driversOn(&d, at))
		}
		o.Progress = drawn
		m, err := sparkreplay.OnHosts(ctx, w, c, o)
		if err != nil {
			return nil, nil, err
		}
		after, err := c.Clocks()
		return m, after, err
	})
}

// driversOn returns what starts drivers on a host.
func driversOn(d *clusters.DriverHost, at sparkreplay.Remote) sparkreplay.Program {
	var words []string
	if d.Token != "" {
		words = []string{"--token-file", d.Token, "--tls-ca", d.CA}
	}
	at.LocalIP = d.Address
	p := at.By("host "+d.Name, d.SSH, words...)
	p.Settings = []string{"spark.driver.host=" + d.Address, "spark.driver.bindAddress=" + d.Address}
	return p
}

// on starts the cluster of a run on the hosts, has it made, and removes the cluster. made also
// returns the clocks of the hosts after the run.
func (h *hostFlags) on(ctx context.Context, run *experiment.Run, progress func(replay.Progress), made func(*clusters.Temporary, []clusters.Clock, func(replay.Progress)) (*replay.Measured, []clusters.Clock, error)) (m *replay.Measured, figures []measure.HostClock, err error) {
	inv, err := clusters.ForRun(h.inventory, run)
	if err != nil {
		return nil, nil, err
	}
	if h.clear {
		if err := clusters.ClearTemporary(ctx, h.inventory, h.parallel); err != nil {
			return nil, nil, err
		}
	}
	program, err := clusters.OpenProgram(ctx, h.program)
	if err != nil {
		return nil, nil, err
	}
	say := sayTo(h.said)
	c, err := clusters.StartTemporary(ctx, inv, clusters.Options{Program: program, Parallel: h.parallel, Say: say})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	before, err := c.Clocks()
	if err != nil {
		return nil, nil, err
	}
	begun := sync.OnceFunc(func() { say(fmt.Sprintf("replaying on %d hosts", len(before))) })
	m, after, err := made(c, before, func(p replay.Progress) {
		begun()
		progress(p)
	})
	if err != nil {
		return m, nil, err
	}
	return m, clocksOf(c.Names(), before, after), nil
}

// clocksOf joins the readings before and after a run.
func clocksOf(names []string, before, after []clusters.Clock) (list []measure.HostClock) {
	for i, name := range names {
		list = append(list, measure.HostClock{
			Host: name, Before: seconds(before[i].Ahead), BeforeWithin: seconds(before[i].Within), After: seconds(after[i].Ahead), AfterWithin: seconds(after[i].Within),
		})
	}
	return list
}

func seconds(d time.Duration) measure.Number { return measure.Number(d.Seconds()) }
