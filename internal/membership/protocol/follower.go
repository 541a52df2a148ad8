package protocol

// Position is a point in what a master publishes.
type Position struct {
	Incarnation int64  // of the master; 0: before the first
	Version     uint64 // grows within the incarnation
}

// Follower is what a reader of memberships knows. The zero value knows none.
type Follower struct {
	masters Incarnations
	version uint64
}

// Position returns the last that was accepted.
func (f *Follower) Position() Position { return Position{f.masters.Current(), f.version} }

// Accept reports whether a membership is newer than what the follower has, and notes it
// then. One of an earlier master never is: it was long under way.
func (f *Follower) Accept(p Position) bool {
	switch {
	case p.Incarnation == 0, f.masters.Superseded(p.Incarnation):
		return false
	case p.Incarnation == f.masters.Current() && p.Version <= f.version:
		return false
	}
	f.masters.Enter(p.Incarnation)
	f.version = p.Version
	return true
}
