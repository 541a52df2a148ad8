package grants

import "github.com/pigeon-sched/pigeon/internal/sched"

// Drain gives back the grants that have reached no executor, and ends all leases, also
// those that would begin later: the slots are free when the pieces of work that run there
// end. why is the reason; for "", leases are given again.
func (t *Table) Drain(why string) {
	t.update(func(e *ends) {
		s := t.assignments
		s.leases.none = why != ""
		if why == "" {
			return
		}
		for _, g := range s.grants { // they do not depend on each other
			if !g.answered {
				s.end(e, g, sched.Yielded, why)
			}
		}
		s.leases.recall(s.grants, sched.Short, func(*grant) bool { return false })
	})
}
