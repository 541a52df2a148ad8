package protocol

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Presumed returns the nodes that have numbers which a node claims from an earlier master,
// and have them only because this master had not heard of that one when they registered,
// less than the rest of an ended process ago. The claimant has had its number for longer.
func (n *Numbers) Presumed(node string, claims []Claim, now sched.Time) (holders []string) {
	for _, c := range claims {
		if c.Number < 1 || c.Number > n.next() {
			continue
		}
		p := &n.numbers[c.Number-1]
		if p.assigned && p.presumed && now-p.left < n.rest.Ended && p.holder.Node != node && !slices.Contains(holders, p.holder.Node) {
			holders = append(holders, p.holder.Node)
		}
	}
	return holders
}

// Void clears the holder of the numbers that a node has left behind, so that others
// may claim them. They rest like those of an earlier master.
func (n *Numbers) Void(node string) {
	for id := range n.numbers {
		if p := &n.numbers[id]; !p.assigned && p.holder.Node == node {
			delete(n.of, p.holder)
			*p = number{left: p.left}
		}
	}
}
