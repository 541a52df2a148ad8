package sparkreplay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Slots returns the number of slots of each node of a cluster that is started for a replay. An
// application has one executor on each node, so nodes are large: the greatest common
// divisor of the groups' sizes, hence one node for each of equal groups. asked, if not
// 0, is returned instead where it divides all sizes.
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

// ClusterOptions describes the cluster that is started for a replay.
type ClusterOptions struct {
	Isolation cluster.Isolation
	Slots     int // of each node, from Slots
}

// OnNewCluster starts the cluster that the run describes, replays the workload on it and
// stops it. It sets Master and Executors of the options to those of that cluster.
func OnNewCluster(ctx context.Context, r *experiment.Run, w *workload.Workload, own ClusterOptions, o Options) (m *replay.Measured, err error) {
	if err := o.Check(len(w.Jobs)); err != nil {
		return nil, err
	}
	c, err := product.Start(ctx, own.spec(r))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	o.Master = func(k int) string { return Rotated(c.Frontends(), k) }
	o.Executors = r.Description.Workers() / own.Slots
	o.Failed = c.Failed()
	return replay.Measure(ctx, c, w, func() (*replay.Measured, error) { return Run(ctx, w, o) })
}

func (own ClusterOptions) spec(r *experiment.Run) cluster.Spec {
	spec := replay.Spec(r)
	spec.Isolation, spec.Slots, spec.Groups = own.Isolation, own.Slots, nil
	spec.HTTP = own.Isolation == cluster.Process // for the count of messages
	for _, workers := range r.Description.Groups {
		spec.Groups = append(spec.Groups, workers/own.Slots)
	}
	return spec
}

// Rotated returns the master URL of driver k on a Pigeon with these frontends: each
// driver has all, and the first of them are spread.
func Rotated(frontends []string, k int) string {
	first := k % len(frontends)
	return "spark-pigeon://" + strings.Join(slices.Concat(frontends[first:], frontends[:first]), ",")
}
