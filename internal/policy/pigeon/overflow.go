package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// peer is another master, and the flag kept for it.
type peer struct {
	up        bool
	flag      [sched.NumClasses]bool // a spare worker there takes tasks of the class
	serves    []string
	announced announcement // what its flag for this group is
}

// masterChanged implements hooks.
func (e *extension) masterChanged(a sched.Addr, up bool) {
	switch id := a.ID; {
	case a.Role != sched.Master || id == e.cfg.Self.ID || id > ledger.MaxMaster:
	case up:
		e.peerUp(id)
	default:
		e.peerLost(id)
	}
}

func (e *extension) peerUp(id int32) {
	if grow := int(id) + 1 - len(e.peers); grow > 0 {
		e.peers = append(e.peers, make([]peer, grow)...)
	}
	e.peers[id] = peer{up: true}
	if at, found := slices.BinarySearch(e.others, id); !found {
		e.others = slices.Insert(e.others, at, id)
	}
}

func (e *extension) peerLost(id int32) {
	if at, found := slices.BinarySearch(e.others, id); found {
		e.peers[id] = peer{}
		e.others = slices.Delete(e.others, at, at+1)
	}
}

// spareElsewhere implements hooks: the other master gets the task that would be
// served next here. Without one that it may have, a flag is kept for it.
func (e *extension) spareElsewhere(from sched.Addr, serves []string, reserved bool, out *sched.Actions) {
	p := e.peer(from)
	if p == nil {
		return
	}
	if !p.announced.known { // it may have ignored earlier notices
		p.announced = announcement{known: true}
	}
	if r := e.nextFor(serves, reserved); r != nil && !r.Moved {
		next := e.next(r)
		e.move(next, from.ID, out)
		e.forget(next.job.ID, out)
		return
	}
	p.flag[sched.Short] = true
	p.flag[sched.Long] = p.flag[sched.Long] || !reserved
	p.serves = slices.Clone(serves)
}

// nextFor is what a worker elsewhere would be served next. It does not count
// for the weight: the worker is not of this group.
func (e *extension) nextFor(serves []string, reserved bool) *queue.Run {
	short := e.index.FirstOf(serves, sched.Short)
	if reserved {
		return short
	}
	if long := e.index.FirstOf(serves, sched.Long); short == nil || (long != nil && e.weight.longIsDue()) {
		return long
	}
	return short
}

// overflow moves an arriving task that found no idle worker to the first group,
// in the order of numbers after this one, that has a flag for it.
func (e *extension) overflow(t work, out *sched.Actions) bool {
	after, _ := slices.BinarySearch(e.others, e.cfg.Self.ID)
	for i := range e.others {
		id := e.others[(after+i)%len(e.others)]
		if p := &e.peers[id]; p.flag[t.class] && slices.Contains(p.serves, t.job.App.Name) {
			p.flag = [sched.NumClasses]bool{}
			e.move(t, id, out)
			return true
		}
	}
	return false
}

// move hands a task back to its distributor, for the group of another master.
func (e *extension) move(x work, to int32, out *sched.Actions) {
	e.counts.Moved++
	out.SendReturned(x.job.Owner(), x.job.ID, x.task, 1, x.attempt, false).Peer = sched.Addr{Role: sched.Master, ID: to}
}
