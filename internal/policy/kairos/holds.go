package kairos

import "github.com/pigeon-sched/pigeon/internal/sched"

// Holds reports whether the attempt is at the node: it runs, is suspended, or waits for
// its first turn.
func (n *Node) Holds(id sched.AttemptID) bool { return n.find(id) != nil }
