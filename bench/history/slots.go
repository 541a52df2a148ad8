package history

import (
	"fmt"
	"strings"
)

// LongJob begins the keys of long jobs.
const LongJob = "long-"

type slotOf struct {
	node string
	slot int
}

// reservedSlots: a slot that was reserved before does not take a long task, unless another master leads
// since: it chooses the reserved slots anew, and may have released this one for a moment.
func reservedSlots(r *Run) (list []Finding) {
	last := map[slotOf]Slot{}
	for _, s := range r.Slots {
		id := slotOf{s.Node, s.Slot}
		before := last[id]
		last[id] = s
		began := s.Job != before.Job || s.Task != before.Task || s.Attempt != before.Attempt
		if s.Reserved && before.Reserved && before.Incarnation == s.Incarnation && before.Epoch == s.Epoch && began && strings.HasPrefix(s.Job, LongJob) {
			list = append(list, Finding{What: fmt.Sprintf("the reserved slot %d of %s took task %d of the long job %s", s.Slot, s.Node, s.Task, s.Job), At: s.Time})
		}
	}
	return list
}

// epochsRise: while a node monitor lives neither its epoch nor a slot's sequence number
// goes back.
func epochsRise(r *Run) (list []Finding) {
	last := map[slotOf]Slot{}
	for _, s := range r.Slots {
		id := slotOf{s.Node, s.Slot}
		before := last[id]
		last[id] = s
		if before.Incarnation != s.Incarnation {
			continue
		}
		if s.Epoch < before.Epoch || s.Seq < before.Seq {
			list = append(list, Finding{What: fmt.Sprintf("%s slot %d went from epoch %d, sequence number %d back to %d, %d", s.Node, s.Slot, before.Epoch, before.Seq, s.Epoch, s.Seq), At: s.Time})
		}
	}
	return list
}

// noWorkerLeaked: the last account of each group and slot, when all is healed and done, is there
// and has every worker idle and none with an open request.
func noWorkerLeaked(r *Run) []Finding {
	return append(groupsLeaked(r), slotsLeaked(r)...)
}

// groupsLeaked compares what each frontend says last of each group, itself or by its standby.
func groupsLeaked(r *Run) (list []Finding) {
	type view struct{ frontend, group int }
	groups := map[view]Group{}
	for _, g := range r.Groups {
		if g.Time >= r.Done {
			groups[view{g.Frontend % max(1, r.Frontends), g.Group}] = g
		}
	}
	for frontend := range r.Frontends {
		if r.FailingDisk == frontendName(frontend) {
			continue // it may not run
		}
		for group, workers := range r.Workers {
			switch g, ok := groups[view{frontend, group}]; {
			case !ok:
				list = append(list, Finding{What: fmt.Sprintf("at the end frontend %d does not report group %d", frontend, group)})
			case g.Workers != workers:
				list = append(list, Finding{What: fmt.Sprintf("at the end frontend %d sees group %d with %d of its %d workers", frontend, group, g.Workers, workers)})
			}
		}
	}
	for id, g := range groups {
		if g.Busy != 0 || g.Idle != g.Workers || g.QueuedShort+g.QueuedLong != 0 {
			list = append(list, Finding{What: fmt.Sprintf("at the end frontend %d sees group %d with %d workers, %d idle and %d busy, and %d tasks in queues", id.frontend, g.Group, g.Workers, g.Idle, g.Busy, g.QueuedShort+g.QueuedLong)})
		}
	}
	return list
}

// slotsLeaked examines what each node says last of its slots.
func slotsLeaked(r *Run) (list []Finding) {
	slots, seen := map[slotOf]Slot{}, map[string]bool{}
	for _, s := range r.Slots {
		if s.Time >= r.Done {
			slots[slotOf{s.Node, s.Slot}], seen[s.Node] = s, true
		}
	}
	for _, node := range r.Nodes {
		if !seen[node] {
			list = append(list, Finding{What: fmt.Sprintf("at the end %s does not report its slots", node)})
		}
	}
	for _, s := range slots {
		switch {
		case s.Job != "":
			list = append(list, Finding{What: fmt.Sprintf("at the end slot %d of %s still runs task %d of job %s, attempt %d", s.Slot, s.Node, s.Task, s.Job, s.Attempt)})
		case s.Asks:
			list = append(list, Finding{What: fmt.Sprintf("at the end slot %d of %s still asks for a task", s.Slot, s.Node)})
		}
	}
	return list
}
