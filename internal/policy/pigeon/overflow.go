package pigeon

import (
	"math/rand/v2"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// transfer moves tasks between groups, for an [extension].
type transfer struct {
	*Master
	draws  *rand.Rand
	peers  []peer  // by master id
	others []int32 // masters that are up, ascending
}

// peer is another master, and the flag kept for it.
type peer struct {
	up        bool
	flag      [sched.NumClasses]bool // a spare worker there accepts tasks of the class
	serves    []string
	announced announcement // the flag that it keeps for this group
}

// masterChanged implements hooks.
func (x *transfer) masterChanged(a sched.Addr, up bool) {
	switch id := a.ID; {
	case a.Role != sched.Master || id == x.cfg.Self.ID || id > ledger.MaxMaster:
	case up:
		x.peerUp(id)
	default:
		x.peerLost(id)
	}
}

func (x *transfer) peerUp(id int32) {
	if grow := int(id) + 1 - len(x.peers); grow > 0 {
		x.peers = append(x.peers, make([]peer, grow)...)
	}
	x.peers[id] = peer{up: true}
	if at, found := slices.BinarySearch(x.others, id); !found {
		x.others = slices.Insert(x.others, at, id)
	}
}

func (x *transfer) peerLost(id int32) {
	if at, found := slices.BinarySearch(x.others, id); found {
		x.peers[id] = peer{}
		x.others = slices.Delete(x.others, at, at+1)
	}
}

// spareElsewhere implements hooks: the task that would be served next here moves to the
// other master. If there is none that may move there, a flag is kept for it.
func (x *transfer) spareElsewhere(from sched.Addr, serves []string, reserved bool, out *sched.Actions) {
	p := x.peer(from)
	if p == nil {
		return
	}
	if !p.announced.known { // it may have ignored earlier notices
		p.announced = announcement{known: true}
	}
	if r := x.nextFor(serves, reserved); r != nil && !r.Moved {
		next := x.next(r)
		x.move(next, from.ID, out)
		x.forget(next.job.ID, out)
		return
	}
	p.flag[sched.Short] = true
	p.flag[sched.Long] = p.flag[sched.Long] || !reserved
	p.serves = slices.Clone(serves)
}

// nextFor returns the run that a worker elsewhere would be served next. It does not
// count for the weight: the worker is not of this group.
func (x *transfer) nextFor(serves []string, reserved bool) *queue.Run {
	short := x.index.FirstOf(serves, sched.Short)
	if reserved {
		return short
	}
	if long := x.index.FirstOf(serves, sched.Long); short == nil || (long != nil && x.weight.longIsDue()) {
		return long
	}
	return short
}

// overflow moves an arriving task that found no idle worker to the first group,
// in the order of numbers after this one, that has a flag for it.
func (x *transfer) overflow(t work, out *sched.Actions) bool {
	after, _ := slices.BinarySearch(x.others, x.cfg.Self.ID)
	for i := range x.others {
		id := x.others[(after+i)%len(x.others)]
		if p := &x.peers[id]; p.flag[t.class] && slices.Contains(p.serves, t.job.App().Name) {
			p.flag = [sched.NumClasses]bool{}
			x.move(t, id, out)
			return true
		}
	}
	return false
}

// move returns a task to its distributor, for the group of another master.
func (x *transfer) move(t work, to int32, out *sched.Actions) {
	x.counts.Moved++
	out.SendReturned(t.job.Distributor(), t.job.ID, t.task, 1, t.attempt, false).Peer = sched.Addr{Role: sched.Master, ID: to}
}
