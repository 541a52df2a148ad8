package link

import "github.com/pigeon-sched/pigeon/thrift/wire"

// Incarnation returns the process that the peer was last added as; false for a peer
// that is not known, or was removed.
func (s *Set) Incarnation(peer wire.Ref) (int64, bool) {
	w := s.links[peer.Daemon()]
	if w == nil || w.removed {
		return 0, false
	}
	return w.incarnation, true
}
