package kairos

import "fmt"

// Valid checks the node's invariants between steps.
func (n *Node) Valid() error {
	running := 0
	for _, t := range n.tasks {
		if t.running {
			running++
		}
		switch {
		case t.running && (!t.started || t.passed != 0):
			return fmt.Errorf("%s runs, started %v, passed over %d times", t.id, t.started, t.passed)
		case t.favored && !t.running:
			return fmt.Errorf("%s waits in a run that is not interrupted", t.id)
		}
	}
	switch {
	case running != n.running || running > n.o.Cores:
		return fmt.Errorf("%d tasks run on %d cores, counted as %d", running, n.o.Cores, n.running)
	case running < n.o.Cores && running < len(n.tasks):
		return fmt.Errorf("%d of %d cores are busy while %d tasks wait", running, n.o.Cores, len(n.tasks)-running)
	case len(n.tasks) > n.o.room():
		return fmt.Errorf("%d tasks, room for %d", len(n.tasks), n.o.room())
	case len(n.tasks) > 1 && !n.beat.ticking:
		return fmt.Errorf("%d tasks, and no heartbeat is due", len(n.tasks))
	}
	return nil
}

// Valid checks the master's invariants between steps.
func (s *Master) Valid() error {
	alive, room := 0, 0
	held := make(map[*job]int32)
	for id, n := range s.nodes {
		if n == nil {
			continue
		}
		alive++
		if n.place != unranked && (s.ranking[n.place] != n || (n.place > 0 && n.before(s.ranking[(n.place-1)/2]))) {
			return fmt.Errorf("node %d is out of place in the ranking", id)
		}
		if n.place != unranked && len(n.tasks) < s.o.room() {
			room++
		}
		if n.spread != spreadOf(n.tasks) {
			return fmt.Errorf("node %d: the spread of its tasks is out of date", id)
		}
		for _, p := range n.tasks {
			held[p.job]++
			if s.jobs[p.job.ID] != p.job {
				return fmt.Errorf("node %d holds %s, of an unknown job", id, p.id())
			}
		}
	}
	if alive != s.alive || (s.service != nil) != (alive > 0) {
		return fmt.Errorf("%d nodes, counted as %d", alive, s.alive)
	}
	if s.Queued() > 0 && room > 0 {
		return fmt.Errorf("%d tasks wait while %d nodes have room", s.Queued(), room)
	}
	return s.validJobs(held)
}

func (s *Master) validJobs(held map[*job]int32) error {
	queued := 0
	for id, j := range s.jobs {
		queued += int(j.Queued)
		if j.Running != held[j] || j.Queued+j.Running == 0 {
			return fmt.Errorf("job %s: %d tasks wait, %d are at nodes, counted as %d", id, j.Queued, held[j], j.Running)
		}
	}
	if queued != s.Queued() {
		return fmt.Errorf("%d tasks wait, counted as %d", queued, s.Queued())
	}
	return nil
}
