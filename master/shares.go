package master

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// shownOwners bounds the owners that a master lists, so that the answer fits a message.
const shownOwners = 10_000

// shares are the shares in effect. They belong to the owner goroutine.
type shares struct {
	set     owners.Shares
	problem owners.Problem // of the last reload
}

// ReadSharesFrom makes the master read the shares again by load when the file changes and
// when Reload is called. It must be called before Run, and does nothing when the settings
// name a file of owners, which is then the one to read.
func (m *Master) ReadSharesFrom(file string, load func() (Config, error)) {
	m.shares.ReadAgainFrom(file, func() (owners.Shares, error) { c, err := load(); return c.Shares, err })
}

// Reload requests that the shares be read again. It reports whether there is a file to read them
// from.
func (m *Master) Reload() bool { return m.shares.Reload() }

// openShares makes the core get the first shares before any other message: those of the file of
// owners, or else those of the former master of this process, or of the configuration. A file that
// cannot be read ends only the first master of a process.
func (m *Master) openShares(former *Master) error {
	m.shares = owners.Reader[owners.Shares]{
		File: m.cfg.OwnersFile, Of: func(f owners.File) owners.Shares { return f.Shares },
		Again: func(s owners.Shares, err error) { m.post(func() { m.owner.readShares(s, err) }) },
	}
	before := m.cfg.Shares
	if former != nil {
		before = former.owner.shares.set // it has ended
	}
	s, err := m.shares.Open(before)
	if err != nil && former != nil {
		m.post(func() { m.owner.setShares(before); m.owner.readShares(s, err) })
		return nil
	}
	if err != nil {
		return err
	}
	if fault := m.cfg.unsharedFault(); fault != "" && m.cfg.OwnersFile != "" && len(s.Shares) > 0 {
		m.log.Warn("the shares of the file of owners have no effect", "file", m.cfg.OwnersFile, "error", fault)
	}
	m.post(func() { m.owner.setShares(s) })
	return nil
}

// readShares is called with the shares as they were read again, or why they were not: those
// before then stay in effect.
func (o *owner) readShares(s owners.Shares, err error) {
	o.shares.problem.Set(err)
	if err != nil {
		o.log.Error("the shares could not be read again, those before stay in effect", "error", err)
		return
	}
	if o.setShares(s) {
		o.log.Info("the shares were read again", "entries", len(s.Shares), "half_life", s.HalfLife)
	}
}

// setShares passes shares to the core if they differ from those in effect, which it reports.
func (o *owner) setShares(s owners.Shares) bool {
	if s.Equal(&o.shares.set) {
		return false
	}
	o.shares.set = s
	o.stepShares()
	return true
}

func (o *owner) stepShares() {
	m := o.shares.set.Message()
	o.core.StepShell(&m)
}

// GroupOwners returns how the group's slots are shared between owners.
func (m *Master) GroupOwners(ctx context.Context) (api.GroupOwners, error) {
	const tried = "reading the shares of the group"
	if !m.standing.leads() {
		return api.GroupOwners{}, m.standing.refusal(tried)
	}
	return daemon.Ask(ctx, m.mailbox, tried, m.owner.groupOwners)
}

func (o *owner) groupOwners() api.GroupOwners {
	views, t, perWorker := o.core.view.Owners(), o.core.view.Totals(), o.policy.SlotsPerWorker()
	g := api.GroupOwners{
		Group: o.cfg.Group, Reachable: true, Fair: views != nil, Slots: (t.Workers[sched.General] + t.Workers[sched.Reserved]) * perWorker,
		HalfLife: o.shares.set.HalfLife.Seconds(), Problem: o.shares.problem.Text, ProblemSince: o.shares.problem.Since(),
		Omitted: max(0, len(views)-shownOwners),
	}
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
