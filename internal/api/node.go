package api

import "time"

// DrainOrder is how a node is drained. The zero value waits for all that runs there.
type DrainOrder struct {
	Deadline time.Duration // after which what still runs is given back and runs elsewhere; 0: none
	Kill     bool          // at once
}

// NodeDrain is a node that was told to drain or to resume, as it answered.
type NodeDrain struct {
	Node    string   `json:"node"`             // its name
	Group   int      `json:"group"`            // number of its group
	State   string   `json:"state"`            // up, draining or drained
	Running int      `json:"running"`          // tasks that are still there
	Results int      `json:"results"`          // ends of tasks that their frontends have not acknowledged yet
	Only    []string `json:"only,omitempty"`   // applications whose tasks no other node can run now; "" stands for sleep and exec
	Reason  string   `json:"reason,omitempty"` // why it takes nothing new whether it drains or not
}

// Gone reports whether the node is only shown: it is lost, stopped or refused.
func (n *Node) Gone() bool {
	switch n.State {
	case "", StateUp, StateDraining, StateDrained, StateUnreachable:
		return false
	}
	return true
}
