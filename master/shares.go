package master

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// shownOwners bounds the owners that a master lists, so that the answer fits a message.
const shownOwners = 10_000

// shares is the state of the configured shares. It belongs to the owner goroutine.
type shares struct {
	halfLife     time.Duration
	problem      string    // of the last reload, "" after a good one
	problemSince time.Time // when problem is not empty
}

// GroupOwners returns how the group's slots are shared between owners.
func (m *Master) GroupOwners(ctx context.Context) (api.GroupOwners, error) {
	return daemon.Ask(ctx, m.mailbox, "reading the shares of the group", m.owner.groupOwners)
}

func (o *owner) groupOwners() api.GroupOwners {
	s := o.state()
	g := api.GroupOwners{
		Group: o.cfg.Group, Reachable: true, Slots: s.Workers, HalfLife: o.shares.halfLife.Seconds(),
		Problem: o.shares.problem,
	}
	if g.Problem != "" {
		g.ProblemSince = float64(o.shares.problemSince.UnixMilli()) / 1000
	}
	views, perWorker := o.core.view.Owners(), o.policy.SlotsPerWorker()
	g.Fair = views != nil
	g.Omitted = max(0, len(views)-shownOwners)
	for i := range views[:len(views)-g.Omitted] {
		g.Owners = append(g.Owners, ownerShare(&views[i], perWorker))
	}
	return g
}

// ownerShare returns a core's view of an owner as it is shown, in slots and seconds.
func ownerShare(v *sched.OwnerView, slots int) api.OwnerShare {
	seconds := func(t sched.Time) float64 { return t.Seconds() * float64(slots) }
	return api.OwnerShare{
		Owner: v.Owner, Weight: v.Share.Weight, Max: v.Share.Max, Min: v.Share.Min, Entitled: v.Entitled * float64(slots),
		RunningShort: v.Running[sched.Short] * slots, RunningLong: v.Running[sched.Long] * slots,
		QueuedShort: v.Queued[sched.Short], QueuedLong: v.Queued[sched.Long],
		UsedShort: seconds(v.Used[sched.Short]), UsedLong: seconds(v.Used[sched.Long]),
		LeadShort: seconds(v.Lead[sched.Short]), LeadLong: seconds(v.Lead[sched.Long]),
	}
}
