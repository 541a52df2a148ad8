package replay

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// ClusterOptions describes a replay on a cluster that is started for it.
type ClusterOptions struct {
	Isolation cluster.Isolation
	Progress  func(Progress)
	// Log receives what daemons of this process log; nil discards it.
	Log *slog.Logger
	// Configure may change the cluster before it starts.
	Configure func(*cluster.Spec)
	// Started, if set, is called on another goroutine when the cluster is ready; the
	// replay ends after it has returned. Its context ends with the replay.
	Started func(context.Context, *cluster.Cluster)
}

// Measured is a replay with what was measured besides its outcome.
type Measured struct {
	Replayed
	Usage  cluster.Usage   // of the daemons, during the replay
	Events []measure.Event // every task's life, in order of time
}

// OnNewCluster starts the cluster that the run describes, replays the workload on it and
// stops it. w is the result of run.Workload.
func OnNewCluster(ctx context.Context, run *experiment.Run, w *workload.Workload, o ClusterOptions) (m *Measured, err error) {
	spec := Spec(run)
	spec.Isolation, spec.Log, spec.History = o.Isolation, o.Log, true
	spec.HTTP = o.Isolation == cluster.Process // for the count of messages
	if o.Configure != nil {
		o.Configure(&spec)
	}
	c, err := product.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if m, err = measured(ctx, c, w, o); err != nil {
		return nil, err
	}
	if err := c.Finish(func() (err error) {
		m.Events, err = ReadHistories(c.Histories(), m.Began)
		return err
	}); err != nil {
		return nil, err
	}
	Queueing(m.Outcome, w, m.Events)
	m.Outcome.Facts.Shares = run.UseOf(w, m.Events)
	return m, nil
}

// Spec returns the cluster of a run: nodes of one slot each, or with the slots of
// one worker of the policy.
func Spec(run *experiment.Run) cluster.Spec {
	d, slots := run.Description, run.Cores.SlotsPerWorker()
	spec := cluster.Spec{
		Slots: slots, Frontends: d.Frontends, Policy: run.Policy, Reserved: d.Reserved, Weight: d.Weight,
		Cutoff: time.Duration(run.Params.Cutoff), Seed: run.Seed, OwnersFile: d.OwnersFile,
	}
	if d.OwnersFile == "" && shared(run) {
		spec.Shares = sharesOf(d)
	}
	groups := d.Groups
	if run.Cores.SingleMaster() && slots > 1 {
		groups = []int{d.Workers()} // a number that does not divide a group may divide the cluster
	}
	for _, workers := range groups {
		spec.Groups = append(spec.Groups, workers/slots)
	}
	return spec
}

// shared reports whether the policy's masters share slots between owners; others refuse shares.
func shared(run *experiment.Run) bool {
	return run.Cores.NewMaster != nil && run.Cores.NewMaster(sched.MasterConfig{Params: run.Params}).Owners() != nil
}

// sharesOf returns the shares of a description as masters have them in their configuration.
func sharesOf(d *experiment.Description) owners.Shares {
	s := owners.Shares{HalfLife: time.Duration(float64(d.HalfLife) / d.Speedup())}
	for _, share := range d.Shares {
		s.Shares = append(s.Shares, owners.Share(share))
	}
	return s
}

func measured(ctx context.Context, c *cluster.Cluster, w *workload.Workload, o ClusterOptions) (*Measured, error) {
	return Measure(ctx, c, w, func() (*Measured, error) {
		beside, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if o.Started != nil {
				o.Started(beside, c)
			}
		}()
		got, err := Run(ctx, w, Options{Frontends: c.Frontends(), Progress: o.Progress, Failed: c.Failed()})
		stop()
		<-ended
		if err != nil {
			return nil, err
		}
		return &Measured{Replayed: *got}, nil
	})
}

// read returns what the daemons of a cluster have used, and how many core messages they have sent,
// since their start.
func read(ctx context.Context, c *cluster.Cluster) (cluster.Usage, int64, error) {
	used, err := c.Usage()
	if err != nil {
		return used, 0, err
	}
	sent, err := c.Messages(ctx)
	return used, int64(sent), err //nolint:gosec // a count
}

// Measure replays on a cluster, and adds to the outcome what the daemons used of their machines
// and how many messages their cores sent.
func Measure(ctx context.Context, c *cluster.Cluster, w *workload.Workload, replay func() (*Measured, error)) (*Measured, error) {
	before, sentBefore, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	m, err := replay()
	if err != nil {
		return nil, err
	}
	after, sent, err := read(context.WithoutCancel(ctx), c) // also when it was ended early
	if err != nil {
		return nil, err
	}
	m.Usage = after.Since(before)
	m.Outcome.Facts.Messages = max(0, sent-sentBefore) // the count of a daemon that was killed is lost
	Live(m.Outcome, w, m.Usage.CPU, m.Usage.RSSMax)
	return m, nil
}
