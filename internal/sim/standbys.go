package sim

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// MasterLosses describes masters that die for good in a measured run, one group after
// another. All else is as with faults off: a message takes the delay, and none is lost but
// those to a dead master.
type MasterLosses struct {
	Every   sched.Time // from one death to the next; 0: none dies
	Standby sched.Time // from a death until a standby leads the group; shorter than Every
}

// Check refuses impossible losses, and policies without masters of groups.
func (l *MasterLosses) Check(p *sched.Policy) error {
	switch {
	case l.Every == 0:
		return nil
	case l.Every < 0 || l.Standby <= 0 || l.Standby >= l.Every:
		return fmt.Errorf("a master that dies every %s and a standby that leads after %s: a standby leads after more than no time, and before the next master dies", seconds(l.Every), seconds(l.Standby))
	case p.NewMaster == nil || p.SingleMaster():
		return fmt.Errorf("the masters of policy %q do not die in measured runs: it has none of groups; use pigeon, pigeon-sort or pigeon-x, or see what faults do to it with --faults SEED", p.Name)
	}
	return nil
}

// standbys ends masters and puts standbys in their places.
type standbys struct {
	*engine
	MasterLosses
	down     []bool   // by group: no master leads
	life     []uint32 // by group, from 0
	launched [][]sched.Message
	deaths   int
}

func newStandbys(e *engine, l MasterLosses) *standbys {
	groups := len(e.cores[sched.Master])
	s := &standbys{engine: e, MasterLosses: l, down: make([]bool, groups), life: make([]uint32, groups), launched: make([][]sched.Message, len(e.group))}
	e.callAt(l.Every, s.die)
	return s
}

// die ends the master of the next group, while there is work.
func (s *standbys) die() {
	if s.arrivals == len(s.work) && s.result.Completed+s.result.Failed == len(s.work) {
		return
	}
	g := s.deaths % len(s.down)
	s.deaths++
	s.down[g] = true
	s.life[g]++
	s.callAt(s.now+s.Standby, func() { s.lead(g) })
	s.callAt(s.now+s.Every, s.die)
}

// lead starts a standby: the nodes of the group report what they run, and the frontends
// what they are owed.
func (s *standbys) lead(g int) {
	self := sched.Addr{Role: sched.Master, ID: int32(g)} //nolint:gosec // groups are few
	s.down[g] = false
	s.cores[sched.Master][g] = s.cfg.Policy.NewMaster(sched.MasterConfig{Self: self, Seed: s.cfg.Seed, Params: s.cfg.Params, Recover: true})
	s.deliver(sched.Addr{}, self, &sched.Message{Kind: sched.EpochIs, Epoch: uint64(s.life[g]) + 1})
	if shares := s.cfg.setShares(); shares != nil {
		s.deliver(sched.Addr{}, self, shares)
	}
	for i, group := range s.group {
		if int(group) == g {
			s.register(self, i)
		}
	}
	up := sched.Message{Kind: sched.MasterUp, Peer: self, Serves: []string{""}}
	for d := range s.cores[sched.Distributor] {
		s.deliver(sched.Addr{}, sched.Addr{Role: sched.Distributor, ID: int32(d)}, &up) //nolint:gosec // frontends are few
	}
	for other := range s.cores[sched.Master] {
		if other != g && s.cfg.Policy.CrossGroup && !s.down[other] {
			its := sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: int32(other)}, Serves: []string{""}} //nolint:gosec // groups are few
			s.deliver(sched.Addr{}, self, &its)
			s.deliver(sched.Addr{}, its.Peer, &up)
		}
	}
}

// register registers a worker with a new master, with its running and suspended tasks.
func (s *standbys) register(master sched.Addr, i int) {
	at := sched.Addr{Role: sched.Worker, ID: int32(i)} //nolint:gosec // workers are fewer than MaxWorkers
	core := s.cores[sched.Worker][i].(sched.WorkerCore)
	slot := core.Slot()
	up := sched.Message{Kind: sched.WorkerUp, Peer: at, Node: fmt.Sprintf("node-%06d", i), Serves: []string{""}, Seq: slot.Seq, Reserved: slot.Reserved}
	again := up
	again.Reserved = false
	s.launched[i] = slices.DeleteFunc(s.launched[i], func(m sched.Message) bool { return !core.Holds(m.AttemptID()) })
	for k := range s.launched[i] {
		if s.launched[i][k].AttemptID() == slot.Running {
			stateAttempt(&up, &s.launched[i][k])
		}
	}
	s.deliver(sched.Addr{}, master, &up)
	for k := range s.launched[i] {
		if l := &s.launched[i][k]; l.AttemptID() != slot.Running {
			held := again
			stateAttempt(&held, l)
			s.deliver(sched.Addr{}, master, &held)
		}
	}
}

// stateAttempt adds the attempt of a launch to a worker's registration.
func stateAttempt(up, launch *sched.Message) {
	up.Job, up.First, up.Attempt = launch.Job, launch.First, launch.Attempt
	up.Distributor, up.Class, up.App, up.Owner, up.Estimate = launch.Distributor, launch.Class, launch.App, launch.Owner, launch.Estimate
}

// lifeOf counts the cores that have ended at an address.
func (e *engine) lifeOf(core sched.Addr) uint32 {
	if e.standbys == nil || core.Role != sched.Master {
		return 0
	}
	return e.standbys.life[core.ID]
}

// drops reports whether a message or a timer finds no master, and records launches.
func (s *standbys) drops(to sched.Addr, m *sched.Message) bool {
	switch {
	case to.Role == sched.Master:
		return s.down[to.ID]
	case to.Role == sched.Worker && (m.Kind == sched.Launch || m.Kind == sched.Preempt):
		list := slices.DeleteFunc(s.launched[to.ID], func(l sched.Message) bool {
			return !s.cores[sched.Worker][to.ID].(sched.WorkerCore).Holds(l.AttemptID())
		})
		s.launched[to.ID] = append(list, *m)
	}
	return false
}
