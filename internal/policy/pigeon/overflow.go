package pigeon

import (
	"math/rand/v2"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// sorted is what a master keeps for sorted queues and helping groups.
type sorted struct {
	options Options
	facts   map[*queue.Job]*facts
	draws   *rand.Rand
	peers   []peer  // by master id
	others  []int32 // masters that are up, ascending
	now     sched.Time
	index   index
	tail    tail
	stints  uint64     // begun so far
	longs   []*worker  // that run a long task and hold no suspended one
	patient []patience // short tasks whose patience runs, in order of its end
	watched watchlist
}

// peer is another master, and the flag kept for it.
type peer struct {
	up     bool
	flag   [sched.NumClasses]bool // a spare worker there takes tasks of the class
	serves []string
	told   told // what its flag for this group says
}

func newSorted(cfg sched.MasterConfig, o Options) (*sorted, *queue.Index) {
	x := &sorted{
		options: o, index: index{cutoff: cfg.Params.Cutoff, aging: o.Aging}, facts: make(map[*queue.Job]*facts),
		draws: sched.Rand(cfg.Seed, uint64(cfg.Self.ID)), //nolint:gosec // an id is not negative
	}
	if o.Tail {
		x.tail = newTail(cfg.Params.Cutoff)
		x.index.due = x.tail.due()
	}
	orders := queue.Orders{By: [sched.NumClasses]queue.Order{
		sched.Short: leastQueued{cfg.Params.Cutoff},
		sched.Long:  &aged{live: &x.index, index: x.index, facts: x.facts},
	}}
	if o.Guard {
		orders.Overdue = overdueCutoffs * cfg.Params.Cutoff
	}
	return x, queue.NewOrderedIndex(orders)
}

// meet follows which other masters there are.
func (s *Master) meet(m *sched.Message) {
	switch id := m.Peer.ID; {
	case s.sorted == nil || m.Peer.Role != sched.Master || id == s.cfg.Self.ID || id > ledger.MaxMaster:
	case m.Kind == sched.MasterUp:
		s.sorted.peerUp(id)
	default:
		s.sorted.peerLost(id)
	}
}

func (x *sorted) peerUp(id int32) {
	if grow := int(id) + 1 - len(x.peers); grow > 0 {
		x.peers = append(x.peers, make([]peer, grow)...)
	}
	x.peers[id] = peer{up: true}
	if at, found := slices.BinarySearch(x.others, id); !found {
		x.others = slices.Insert(x.others, at, id)
	}
}

func (x *sorted) peerLost(id int32) {
	if at, found := slices.BinarySearch(x.others, id); found {
		x.peers[id] = peer{}
		x.others = slices.Delete(x.others, at, at+1)
	}
}

// spare answers another master's spare worker with the task that it would serve
// next here. Without one that it may have, a flag is kept for that master.
func (s *Master) spare(from sched.Addr, m *sched.Message, out *sched.Actions) {
	p := s.peer(from)
	if p == nil {
		return
	}
	if !p.told.heard { // it may have ignored what it was told before
		p.told = told{heard: true}
	}
	if r := s.nextFor(m.Serves, m.Reserved); r != nil && !r.Moved {
		next := s.next(r)
		s.move(next, from.ID, out)
		s.forget(next.job.ID, out)
		return
	}
	p.flag[sched.Short] = true
	p.flag[sched.Long] = p.flag[sched.Long] || !m.Reserved
	p.serves = slices.Clone(m.Serves)
}

// nextFor is what a worker elsewhere would be served next. It does not count
// for the weight: the worker is not of this group.
func (s *Master) nextFor(serves []string, reserved bool) *queue.Run {
	short := s.index.FirstOf(serves, sched.Short)
	if reserved {
		return short
	}
	if long := s.index.FirstOf(serves, sched.Long); short == nil || (long != nil && s.longIsDue()) {
		return long
	}
	return short
}

// elsewhere finds a place for an arriving task for which no worker is idle, other
// than the queue: over a long task, or in another group.
func (s *Master) elsewhere(x work, out *sched.Actions) bool {
	o := &s.sorted.options
	if o.Suspend && o.Patience == 0 && x.class == sched.Short && s.preempt(x, out) {
		return true
	}
	return !x.moved && s.overflow(x, out)
}

// overflow moves an arriving task that found no idle worker to the first group,
// in the order of numbers after this one, that has a flag for it.
func (s *Master) overflow(t work, out *sched.Actions) bool {
	x := s.sorted
	after, _ := slices.BinarySearch(x.others, s.cfg.Self.ID)
	for i := range x.others {
		id := x.others[(after+i)%len(x.others)]
		if p := &x.peers[id]; p.flag[t.class] && slices.Contains(p.serves, t.job.App.Name) {
			p.flag = [sched.NumClasses]bool{}
			s.move(t, id, out)
			return true
		}
	}
	return false
}

// move hands a task back to its distributor, for the group of another master.
func (s *Master) move(x work, to int32, out *sched.Actions) {
	s.counts.Moved++
	s.giveBack(x.job.Owner(), x.job.ID, x.task, 1, x.attempt, false, out).Peer = sched.Addr{Role: sched.Master, ID: to}
}
