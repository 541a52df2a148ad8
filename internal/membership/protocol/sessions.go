package protocol

import (
	"cmp"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Peer names a daemon.
type Peer struct {
	Role sched.Role
	Name string
}

// Compare orders peers by role and name.
func (p Peer) Compare(other Peer) int {
	return cmp.Or(cmp.Compare(p.Role, other.Role), cmp.Compare(p.Name, other.Name))
}

// Status of a process among the sessions.
type Status int

// The statuses.
const (
	Unknown    Status = iota // not a member yet, or not any more
	Current                  // a member
	Superseded               // another process has taken its name
)

// String returns the status as logs and metrics name it.
func (s Status) String() string { return [...]string{"unknown", "current", "superseded"}[s] }

// Patience is how long a peer that is missing from the membership stays current.
type Patience struct {
	Node, Frontend sched.Time
	// NewMaster is how long no peer leaves after the first membership of another
	// master: the missing ones may still be registering there.
	NewMaster sched.Time
}

// lateMost is how late Expire may be called by a process that runs.
const lateMost = sched.Second

// departedKept bounds the names that are remembered after they have left.
const departedKept = 4096

// Sessions are the processes that this daemon may listen to.
type Sessions struct {
	patience   Patience
	master     int64      // the last that NewMaster named
	graceUntil sched.Time // no peer leaves before
	peers      map[Peer]*session
	departed   []Peer // that have left, the longest ago first
}

// session is the process of one name.
type session struct {
	Incarnations
	member  bool
	missing bool       // from the last membership
	since   sched.Time // when it was missed first
}

// NewSessions returns an empty table.
func NewSessions(p Patience) *Sessions { return &Sessions{patience: p, peers: map[Peer]*session{}} }

// Status returns the status of a process: unknown, current or superseded.
func (t *Sessions) Status(peer Peer, incarnation int64) Status {
	s := t.peers[peer]
	switch {
	case s == nil:
		return Unknown
	case s.member && s.Current() == incarnation:
		return Current
	case s.Superseded(incarnation):
		return Superseded
	default:
		return Unknown
	}
}

// NewMaster records the master of the next membership, and reports whether it succeeds another one.
func (t *Sessions) NewMaster(incarnation int64, now sched.Time) (successor bool) {
	successor = t.master != 0 && t.master != incarnation
	if successor {
		t.graceUntil = now + t.patience.NewMaster
	}
	t.master = incarnation
	return successor
}

// Enter makes a process current. It reports whether the peer was no member or another
// process.
func (t *Sessions) Enter(peer Peer, incarnation int64) (changed bool) {
	s := t.peers[peer]
	if s == nil {
		s = &session{}
		t.peers[peer] = s
	}
	changed = s.Incarnations.Enter(incarnation) || !s.member
	if !s.member {
		if at := slices.Index(t.departed, peer); at >= 0 {
			t.departed = slices.Delete(t.departed, at, at+1)
		}
	}
	s.member, s.missing = true, false
	return changed
}

// Retain records which peers the membership has now, and removes those that have
// been missing for too long. It returns those that it removed, in order.
func (t *Sessions) Retain(members map[Peer]bool, now sched.Time) (left []Peer) {
	for peer, s := range t.peers {
		switch {
		case !s.member:
		case members[peer]:
			s.missing = false
		case !s.missing:
			s.missing, s.since = true, now
		}
	}
	return t.Expire(now)
}

// Expire removes the peers that have been missing for too long by now, and returns them
// in order. When it is called late, this process did not run for a while: a newer membership
// may wait to be read, so that the missing peers have their whole time once more.
func (t *Sessions) Expire(now sched.Time) (left []Peer) {
	if at, some := t.Next(); some && now-at > lateMost {
		t.startOver(now)
	}
	for peer, s := range t.peers {
		if s.member && s.missing && now >= t.leaves(peer, s) {
			left = append(left, peer)
		}
	}
	slices.SortFunc(left, Peer.Compare)
	for _, peer := range left {
		t.leave(peer)
	}
	return left
}

// startOver counts the missing peers as missing from now on.
func (t *Sessions) startOver(now sched.Time) {
	for _, s := range t.peers {
		if s.member && s.missing {
			s.since = now
		}
	}
	if t.graceUntil > 0 {
		t.graceUntil = max(t.graceUntil, now+t.patience.NewMaster)
	}
}

// Next returns when Expire has to be called at the latest; false while no peer is missing.
func (t *Sessions) Next() (at sched.Time, some bool) {
	for peer, s := range t.peers {
		if s.member && s.missing {
			if leaves := t.leaves(peer, s); !some || leaves < at {
				at, some = leaves, true
			}
		}
	}
	return at, some
}

// leaves returns when a missing peer leaves.
func (t *Sessions) leaves(peer Peer, s *session) sched.Time {
	patience := t.patience.Frontend
	if peer.Role == sched.Worker {
		patience = t.patience.Node
	}
	return max(s.since+patience, t.graceUntil)
}

// leave keeps the processes of the name for as long as there is room, so that none of
// them is taken for a new one.
func (t *Sessions) leave(peer Peer) {
	s := t.peers[peer]
	s.member, s.missing = false, false
	if len(t.departed) >= departedKept {
		delete(t.peers, t.departed[0])
		t.departed = slices.Delete(t.departed, 0, 1)
	}
	t.departed = append(t.departed, peer)
}
