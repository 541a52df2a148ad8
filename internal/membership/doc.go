// Package membership is how daemons know which other daemons are alive. A membership is
// the list of live nodes and frontends, with their incarnations, addresses and worker
// numbers, that a master publishes; package protocol has its rules, this package the
// goroutines around them.
//
//	node, frontend                     master                    frontend, node
//	Heartbeat ──hello, snapshot──▶ its registry ─▶ Publisher ◀──long poll── Follower
//	                                                                          │
//	                                    batch of a process ──▶ Sessions ◀─────┘
//	                                                 unknown, current or superseded
//
// A Follower requests a membership newer than its own, and the Publisher answers when there
// is one, or after the follower's wait with what it has. A request that fails is repeated
// after a pause; the last membership stays in force meanwhile. A follower applies each
// answer before its next request, so many changes arrive as one.
//
// A restarted master has no registered daemon at first. Followers of the earlier master
// are answered when its daemons have had the time to register with the new one, since
// a daemon that is missing from a membership counts as lost.
package membership
