package pigeon

import "fmt"

// valid checks the claims and the slots that are kept for them, between steps.
func (x *wide) valid() error {
	if x == nil {
		return nil
	}
	kept := 0
	for _, w := range x.workers {
		if w == nil {
			continue
		}
		if w.kept {
			kept++
		}
		if busy := w.job != nil || w.follows.Attempt > 0; w.kept && (busy || w.Listed() || !x.isHeld(w)) || busy && w.Listed() {
			return fmt.Errorf("worker %d is kept: %v, idle: %v, busy: %v, and held by a claim: %v", w.addr.ID, w.kept, w.Listed(), busy, x.isHeld(w))
		}
		if w.job != nil && w.follows.Attempt > 0 {
			return fmt.Errorf("worker %d runs a task, and is beside another that leads", w.addr.ID)
		}
	}
	if kept != len(x.kept) {
		return fmt.Errorf("%d workers are kept, %d are listed", kept, len(x.kept))
	}
	return x.validClaims()
}

func (x *wide) validClaims() error {
	claimed := map[*needs]int32{}
	nodes := map[*node]bool{}
	var sum, count [2]int
	for _, c := range x.claims {
		f := x.facts[c.job]
		if x.jobs[c.job.ID] != c.job || f == nil || nodes[c.node] {
			return fmt.Errorf("a claim is for job %s, which is not here, or the second of its node", c.job.ID)
		}
		if nodes[c.node] = true; c.node == nil {
			continue
		}
		claimed[f]++
		sum[c.class] += c.width()
		count[c.class]++
		for _, w := range c.node.slots {
			if w.Listed() && c.wants(w) {
				return fmt.Errorf("worker %d is idle at a node with a claim", w.addr.ID)
			}
		}
	}
	for class, slots := range sum {
		if count[class] > 1 && slots*claimedShare > x.live {
			return fmt.Errorf("%d claims hold %d of %d slots", count[class], slots, x.live)
		}
	}
	following := map[*needs]int32{}
	for _, w := range x.workers {
		if w != nil && w.of != nil {
			following[x.facts[w.of]]++
		}
	}
	for j, f := range x.facts {
		if x.jobs[j.ID] != j || f.claimed != claimed[f] || f.following != following[f] {
			return fmt.Errorf("job %s: %d claims and %d slots beside a lead, counted as %d and %d", j.ID, claimed[f], following[f], f.claimed, f.following)
		}
	}
	return nil
}
