package protocol

// Position is a point in what a master publishes.
type Position struct {
	Incarnation int64  // of the master; 0: before the first
	Version     uint64 // grows within the incarnation
}

// Follower is the state of a reader of memberships. The zero value has accepted none.
type Follower struct {
	position Position
}

// Position returns the position of the last accepted membership. The reader names it when it requests
// another membership.
func (f *Follower) Position() Position { return f.position }

// Accept reports whether the answer to a request that named a position is newer than what the
// follower has, and records it then. An answer to an earlier request never is: incarnations have
// no order, so a late one of an earlier master cannot be distinguished from that of a later one,
// which would be ignored from then on.
func (f *Follower) Accept(asked, p Position) bool {
	switch {
	case asked != f.position, p.Incarnation == 0:
		return false
	case p.Incarnation == f.position.Incarnation && p.Version <= f.position.Version:
		return false
	}
	f.position = p
	return true
}
