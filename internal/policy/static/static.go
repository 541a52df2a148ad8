// Package static divides the workers between owners once and for all: a baseline that fair
// shares are compared with, as fixed numbers of cores for each user are in practice.
//
//	distributor, worker   Pigeon's
//	master                Pigeon's, one for all workers, W infinite and no worker
//	                      reserved; no owner runs more tasks than its partition has workers
//
// A partition is a number of workers, not a list of them: its owner may use any workers, but
// never more of them, idle as the others may be. Within it short tasks are served before long
// ones, both in order of arrival.
//
// The option sets the number of equal partitions. An owner without a configured share has one of
// them; owners with shares have partitions in proportion to their weights instead, which their
// members share. With more owners than partitions the partitions together exceed the workers,
// and those that ask first are served. Tasks without an owner, and of owners beyond maxOwners,
// have no partition and no limit.
package static

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// Name is the name under which users choose the policy.
const Name = "static"

// maxOwners bounds the owners that have a partition.
const maxOwners = 5000

// Options are the settings of the policy.
type Options struct {
	Owners int // partitions
}

// Defaults returns two partitions.
func Defaults() Options { return Options{Owners: 2} }

// Policy returns the policy's cores.
func Policy(o Options) sched.Policy {
	p := pigeon.Policy()
	p.Name, p.Central, p.Explain = Name, true, explain
	p.NewMaster = func(c sched.MasterConfig) sched.MasterCore { return NewMaster(c, o) }
	return p
}

// explain returns why tasks wait.
func explain(w *sched.Waiting) string {
	return fmt.Sprintf("%s among %d at the central master: the fixed partition of its owner has no idle worker, whether others are idle or not. The oldest waits %.3f s.",
		sched.Count(w.Queued, "of its tasks waits", "of its tasks wait"), w.QueuedAll[sched.Short]+w.QueuedAll[sched.Long], w.OldestWait)
}

// Master is Pigeon's. It is sent shares that give every owner a maximum.
type Master struct {
	*pigeon.Master
	partitions int
	configured []sched.Share
	halfLife   sched.Time
	known      []string // owners without a configured share, sorted
}

var _ sched.MasterCore = (*Master)(nil)

// NewMaster returns a master without workers.
func NewMaster(c sched.MasterConfig, o Options) *Master {
	c.Params.Weight, c.Params.Reserved = 0, 0
	return &Master{Master: pigeon.NewMaster(c), partitions: o.Owners}
}

// Step implements [sched.Core].
func (s *Master) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch {
	case m.Kind == sched.SetShares && m.More != nil:
		s.configured, s.halfLife = withTeams(m.More.Shares), m.More.HalfLife
		s.known = slices.DeleteFunc(s.known, s.covered)
		s.divide(now, out)
		return
	case m.Kind == sched.Tasks, m.Kind == sched.WorkerUp && m.Attempt > 0:
		if at, found := slices.BinarySearch(s.known, m.Owner); !found && m.Owner != "" && len(s.known) < maxOwners && m.Valid() && !s.covered(m.Owner) {
			s.known = slices.Insert(s.known, at, m.Owner)
			s.divide(now, out)
		}
	}
	s.Master.Step(now, from, m, out)
}

// withTeams returns the shares, and one of weight 1 for each team without a share below which an
// owner has one: no partition but the team's limits that owner.
func withTeams(list []sched.Share) []sched.Share {
	all, named := slices.Clone(list), make(map[string]bool, len(list))
	for i := range list {
		named[list[i].Owner] = true
	}
	for i := range list {
		if team, _, below := strings.Cut(list[i].Owner, "/"); below && !named[team] && len(all) < shares.MostShares {
			named[team] = true
			all = append(all, sched.Share{Owner: team, Weight: 1})
		}
	}
	return all
}

// covered reports whether the owner has a configured share, or is below one that has.
func (s *Master) covered(owner string) bool {
	return slices.ContainsFunc(s.configured, func(c sched.Share) bool {
		return owner == c.Owner || strings.HasPrefix(owner, c.Owner+"/")
	})
}

// divide gives every known owner its maximum.
func (s *Master) divide(now sched.Time, out *sched.Actions) {
	whole, top := 0.0, 0
	for i := range s.configured {
		if !strings.Contains(s.configured[i].Owner, "/") {
			whole += s.configured[i].Weight
			top++
		}
	}
	whole += float64(max(0, s.partitions-top))
	list := make([]sched.Share, 0, len(s.configured)+len(s.known))
	for _, c := range s.configured {
		if c.Min = 0; !strings.Contains(c.Owner, "/") {
			c.Max = min(1, c.Weight/whole)
		}
		list = append(list, c)
	}
	for _, owner := range s.known {
		list = append(list, sched.Share{Owner: owner, Weight: 1, Max: min(1, 1/whole)})
	}
	m := sched.Message{Kind: sched.SetShares, More: &sched.More{Shares: list, HalfLife: s.halfLife}}
	s.Master.Step(now, sched.Addr{}, &m, out)
}
