package nodemonitor

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// formerKept is how many replaced processes of a name are remembered.
const formerKept = 8

// roll is who else is registered, as the master says. The owner enters changes;
// whoever takes batches looks senders up. It is safe for concurrent use.
type roll struct {
	mu    sync.RWMutex
	peers map[wire.Ref]entry // by daemon

	waiting bool              // the owner's: it looks again at those that are missed
	listed  []sched.Member    // the owner's: the live workers, in the order of their numbers
	barred  map[wire.Ref]bool // the owner's: nodes that have refused messages a moment ago
	members []sched.Member    // the owner's: the listed without the barred, as the cores know them
	highest int32             // the owner's: number of a worker that was ever on the roll, plus one
}

// entry is a daemon on the roll.
type entry struct {
	incarnation int64
	former      []int64   // replaced, the last at the end
	missed      time.Time // since when it is not on the roll; zero while it is
}

// letGoBeats is how many heartbeats a frontend may be off the roll before this node
// lets go of what it reserved here. A master that has started again, or had stopped for
// a while, puts up a roll without frontends that live and are back with their next
// hello. One that had let go would not be told again: the frontend may have seen
// neither roll, or have reserved anew by the second while this node still reads the
// first. Meanwhile a worker may wait for a frontend that is dead, letGoMost at most.
const (
	letGoBeats = 10
	letGoMost  = 5 * time.Second
)

// standing of the process that a batch comes from.
type senderStanding int

const (
	stranger senderStanding = iota // not on the roll yet, or not any more
	listed
	replaced // by another process of its name
)

func newRoll() *roll {
	return &roll{peers: map[wire.Ref]entry{}, barred: map[wire.Ref]bool{}}
}

// standing looks up a process.
func (r *roll) standing(peer wire.Ref, incarnation int64) senderStanding {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, known := r.peers[peer.Daemon()]
	switch {
	case known && e.incarnation == incarnation:
		return listed
	case slices.Contains(e.former, incarnation):
		return replaced
	default:
		return stranger
	}
}

// list enters a process; changed says that its name was another one's, or nobody's.
func (r *roll) list(peer wire.Ref, incarnation int64) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, known := r.peers[peer]
	if known && e.incarnation == incarnation {
		return false
	}
	if known {
		e.former = append(slices.Clone(e.former[max(0, len(e.former)-formerKept+1):]), e.incarnation)
	}
	e.incarnation, e.missed = incarnation, time.Time{}
	r.peers[peer] = e
	return true
}

// call notes who is on the roll now, and since when the others are not.
func (r *roll) call(here map[wire.Ref]bool, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for peer, e := range r.peers {
		switch {
		case here[peer]:
			e.missed = time.Time{}
		case e.missed.IsZero():
			e.missed = now
		}
		r.peers[peer] = e
	}
}

// strike takes off the nodes that are missed, and the frontends that were missed by
// the given time already. It gives those that it took off, and whether some are left.
func (r *roll) strike(by time.Time) (gone []wire.Ref, left bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for peer, e := range r.peers {
		switch {
		case e.missed.IsZero():
		case peer.Role == sched.Distributor && e.missed.After(by):
			left = true
		default:
			gone = append(gone, peer)
		}
	}
	for _, peer := range gone {
		delete(r.peers, peer)
	}
	slices.SortFunc(gone, func(a, b wire.Ref) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name))
	})
	return gone, left
}

// enlist takes in the roll as the master has it now. It is entered into the
// directory and the ways before anybody is let speak, and before the cores hear.
func (o *owner) enlist(r *wire.Membership) {
	here := make(map[wire.Ref]bool, len(r.Nodes)+len(r.Frontends))
	var members []sched.Member
	for i := range r.Nodes {
		n := &r.Nodes[i]
		members = o.enroll(n, members)
		peer := wire.Ref{Role: sched.Worker, Name: n.Name}
		if peer == o.self {
			continue
		}
		here[peer] = true
		o.links.Add(peer, n.Address, n.Incarnation)
		o.roll.list(peer, n.Incarnation)
	}
	for i := range r.Frontends {
		f := &r.Frontends[i]
		peer := wire.Ref{Role: sched.Distributor, Name: f.Name}
		here[peer] = true
		at := o.addrs.Addr(peer)
		o.links.Add(peer, f.Address, f.Incarnation)
		if o.roll.list(peer, f.Incarnation) {
			o.workers.FrontendGone(at) // what its former process was asked
		}
	}
	o.roll.call(here, time.Now())
	o.letGo()
	o.acquaint(members)
}

// letGo forgets who has gone from the roll, and looks again when somebody may have
// gone for good.
func (o *owner) letGo() {
	patience := min(letGoBeats*time.Duration(o.heartbeat), letGoMost)
	gone, left := o.roll.strike(time.Now().Add(-patience))
	for _, peer := range gone {
		o.log.Debug("gone from the roll", "peer", peer.String())
		o.links.Remove(peer)
		if at, ok := o.addrs.Find(peer); ok && peer.Role == sched.Distributor {
			o.workers.FrontendGone(at)
		}
	}
	if left && !o.roll.waiting {
		o.roll.waiting = true
		time.AfterFunc(patience, func() {
			o.post(event{do: func() { // nobody when the daemon has stopped
				o.roll.waiting = false
				o.letGo()
			}})
		})
	}
}

// enroll enters the numbers of a node's workers and adds them to the members.
func (o *owner) enroll(n *wire.MemberNode, members []sched.Member) []sched.Member {
	for slot, number := range n.Numbers {
		if number < 1 {
			continue // it is gone
		}
		ref := wire.Ref{Role: sched.Worker, Name: n.Name, Slot: int32(slot)} //nolint:gosec // few
		o.roll.highest = max(o.roll.highest, number)
		if !o.addrs.Set(ref, number-1) {
			o.log.Error("a number on the roll stands for another worker; it is left out", "worker", ref.String(), "number", number-1)
			continue
		}
		m := sched.Member{Worker: sched.Addr{Role: sched.Worker, ID: number - 1}}
		if o.policy.Central {
			m.Master = o.master
		}
		members = append(members, m)
	}
	return members
}

// acquaint takes the list of live workers, and tells the cores.
func (o *owner) acquaint(members []sched.Member) {
	slices.SortFunc(members, func(a, b sched.Member) int { return cmp.Compare(a.Worker.ID, b.Worker.ID) })
	o.roll.listed = members
	o.tellMembers()
}

// tellMembers tells the cores who else there is, where they want to know and it has
// changed. All get one list.
func (o *owner) tellMembers() {
	members := o.roll.listed
	if len(o.roll.barred) > 0 {
		members = slices.DeleteFunc(slices.Clone(members), func(m sched.Member) bool {
			ref, _ := o.addrs.Ref(m.Worker)
			return o.roll.barred[ref.Daemon()]
		})
	}
	if !o.policy.PeerAware || slices.Equal(members, o.roll.members) {
		return
	}
	o.roll.members = members
	o.workers.SetMembers(members)
}

// barredFor is how long a node that refused messages passes for lost here.
const barredFor = time.Second

// bar has a node pass for lost, and a moment later for new.
func (o *owner) bar(peer wire.Ref) {
	if o.roll.barred[peer] {
		return
	}
	o.roll.barred[peer] = true
	o.tellMembers()
	time.AfterFunc(barredFor, func() {
		o.post(event{do: func() { // nobody when the daemon has stopped
			delete(o.roll.barred, peer)
			o.tellMembers()
		}})
	})
}

// peerRefused gives up the requests to a frontend that does not accept messages. A node
// that does not passes for lost for a while: what cores have sent to its workers moves
// on to others.
func (o *owner) peerRefused(peer wire.Ref) {
	if peer.Role == sched.Worker {
		o.bar(peer)
		return
	}
	if at, known := o.addrs.Find(peer); known {
		o.workers.FrontendGone(at)
	}
}
