package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/product"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/spf13/cobra"
)

// clusterFlags describe the cluster that is measured.
type clusterFlags struct {
	workers, groups, nodes, frontends int
	isolation, policy                 string
	running                           []string
	noSync, tls                       bool
}

func addClusterFlags(cmd *cobra.Command, workers int) *clusterFlags {
	f, fs := &clusterFlags{}, cmd.Flags()
	fs.IntVar(&f.workers, "workers", workers, "slots in all")
	fs.IntVar(&f.groups, "groups", 3, "groups, of equal size")
	fs.IntVar(&f.nodes, "nodes", 12, "nodes in all, which share the slots")
	fs.IntVar(&f.frontends, "frontends", 1, "frontends")
	fs.StringVar(&f.policy, "policy", "pigeon", "NAME[:key=value,...]; "+strings.Join(policy.Names(), ", "))
	fs.StringVar(&f.isolation, "isolation", string(local.Goroutine), "goroutine: all daemons in this process; process: one for each")
	fs.StringSliceVar(&f.running, "frontend", nil, "host:port of the frontends of a running cluster, instead of starting one")
	fs.BoolVar(&f.noSync, "no-sync", false, "journal without fsync")
	fs.BoolVar(&f.tls, "tls", false, "all calls by mutual TLS, in a cluster started for it in this process")
	return f
}

// spec returns the cluster that the flags ask for.
func (f *clusterFlags) spec() (local.Spec, error) {
	switch {
	case f.groups < 1 || f.nodes < f.groups || f.nodes%f.groups != 0:
		return local.Spec{}, fmt.Errorf("--nodes %d do not share evenly among --groups %d", f.nodes, f.groups)
	case f.workers < f.nodes || f.workers%f.nodes != 0:
		return local.Spec{}, fmt.Errorf("--workers %d do not share evenly among --nodes %d", f.workers, f.nodes)
	}
	return local.Spec{
		Policy: f.policy,
		Groups: experiment.EvenGroups(f.nodes, f.groups), Slots: f.workers / f.nodes, Frontends: f.frontends,
		Isolation: local.Isolation(f.isolation), NoSync: f.noSync, TLS: f.tls,
	}, local.Isolation(f.isolation).Check()
}

// on runs a measurement on the cluster; c is nil on a running one.
func (f *clusterFlags) on(ctx context.Context, history bool, measure func(c *local.Cluster, frontends []string) error) error {
	if len(f.running) > 0 {
		sizes, err := groupsOf(ctx, f.running)
		if err != nil {
			return err
		}
		f.groups, f.workers = len(sizes), 0
		for _, n := range sizes {
			f.workers += n
		}
		return measure(nil, f.running)
	}
	spec, err := f.spec()
	if err != nil {
		return cli.AsUsageError(err)
	}
	spec.History = history
	c, err := product.Start(ctx, spec)
	if err != nil {
		return err
	}
	return errors.Join(measure(c, c.Frontends()), c.Close())
}

// backendsMeasured describes the flag --backend of measurements.
const backendsMeasured = "sleep, or exec: real processes"

// checkBackend refuses a backend whose tasks no measurement can run.
func checkBackend(b api.Backend) error {
	if b != api.BackendSleep && b != api.BackendExec {
		return fmt.Errorf("--backend %q does not exist; use %s or %s", b, api.BackendSleep, api.BackendExec)
	}
	return nil
}
