package viaspark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/experiment"
	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/workload"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cluster"
)

// Slots returns the slots of each node of a cluster of one's own, so that an
// application has few executors: as many as the groups' sizes have in common, hence
// one node for each of even groups. asked, if not 0, is taken instead where it
// divides all sizes.
func Slots(groups []int, asked int) (int, error) {
	common := 0
	for _, size := range groups {
		for a := size; a != 0; {
			common, a = a, common%a
		}
	}
	if asked == 0 {
		return common, nil
	}
	if asked < 0 || common%asked != 0 {
		return 0, &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("groups of %d workers cannot be made of nodes of %d slots", groups, asked), Subject: "--slots",
			Tried: "laying out a cluster; nothing was started", Next: fmt.Sprintf("give a divisor of %d, or leave it out", common),
		}
	}
	return asked, nil
}

// Own says what cluster of one's own to replay on.
type Own struct {
	Isolation cluster.Isolation
	Slots     int // of each node, from Slots
}

// OnOwn starts the cluster that the run describes, replays the workload on it and
// takes it down. Master and Executors of the options are those of that cluster.
func OnOwn(ctx context.Context, r *experiment.Run, w *workload.Workload, own Own, o Options) (m *replay.Measured, err error) {
	if err := o.Check(len(w.Jobs)); err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, own.spec(r))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	o.Master = func(k int) string { return Rotated(c.Frontends(), k) }
	o.Executors = r.Description.Workers() / own.Slots
	o.Failed = c.Failed()
	before, sentBefore, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	if m, err = Run(ctx, w, o); err != nil {
		return nil, err
	}
	after, sent, err := read(context.WithoutCancel(ctx), c) // also when it was ended early
	if err != nil {
		return nil, err
	}
	m.Usage = after.Since(before)
	m.Outcome.Facts.Messages = sent - sentBefore
	replay.Live(m.Outcome, w, m.Usage.CPU, m.Usage.RSSMax)
	return m, nil
}

func (own Own) spec(r *experiment.Run) cluster.Spec {
	spec := replay.Spec(r)
	spec.Isolation, spec.Slots, spec.Groups = own.Isolation, own.Slots, nil
	spec.HTTP = own.Isolation == cluster.Process // to ask for the messages
	for _, workers := range r.Description.Groups {
		spec.Groups = append(spec.Groups, workers/own.Slots)
	}
	return spec
}

// read returns what the daemons have used, and how many core messages they have sent.
func read(ctx context.Context, c *cluster.Cluster) (cluster.Usage, int64, error) {
	used, err := c.Usage()
	if err != nil {
		return used, 0, err
	}
	sent, err := c.Messages(ctx)
	return used, int64(sent), err //nolint:gosec // a count
}

// Rotated is the master of driver k on a Pigeon of these frontends: the drivers are
// spread over them, and each knows all.
func Rotated(frontends []string, k int) string {
	first := k % len(frontends)
	return "spark-pigeon://" + strings.Join(slices.Concat(frontends[first:], frontends[:first]), ",")
}
