package protocol

// Registration is the state of a node's registration with its master.
//
//	unregistered ──Accepted──▶ registered ──Answered──▶ registered
//	      ▲                        │
//	      └─Withdraw, or an answer─┘
//	        that does not know it
type Registration struct {
	master     int64 // incarnation of the one that accepted this node last, 0 before
	registered bool
	silent     bool // the last snapshot was not answered
}

// Registered reports whether the node sends snapshots; otherwise it sends hellos.
func (r *Registration) Registered() bool { return r.registered }

// Ever reports whether the node was registered at least once.
func (r *Registration) Ever() bool { return r.master != 0 }

// Accepted records that a master of the incarnation has accepted a hello.
func (r *Registration) Accepted(master int64) {
	*r = Registration{master: master, registered: true}
}

// Withdraw makes the node's next heartbeat a hello.
func (r *Registration) Withdraw() { r.registered = false }

// Answered records the answer to a snapshot: known is whether the master has this node.
// It reports whether the node is still registered, which it is with one process only.
func (r *Registration) Answered(master int64, known bool) bool {
	r.silent = false
	r.registered = known && master == r.master
	return r.registered
}

// Unanswered records a snapshot without an answer and reports whether it is the first
// since the last answer.
func (r *Registration) Unanswered() (first bool) {
	first, r.silent = !r.silent, true
	return first
}
