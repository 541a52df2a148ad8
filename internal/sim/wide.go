package sim

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Tasks of several slots and gangs, with faults off. A task runs once, at the slot that leads; its end
// is the end of every slot that holds the attempt.

// nodeNames returns the node of every worker.
func (e *engine) nodeNames() []string {
	names := make([]string, 0, len(e.group))
	for _, group := range e.cfg.Nodes() {
		for _, slots := range group {
			name := fmt.Sprintf("node-%06d", len(names))
			for range slots {
				names = append(names, name)
			}
		}
	}
	return names
}

// CheckWide refuses jobs that demand more than a slot under a policy that does not know that, and
// those that no node, or no group, could ever hold. General slots alone count for long jobs.
func (c *Config) CheckWide(jobs []Job) error {
	groups := c.Nodes()
	for i := range jobs {
		j := &jobs[i]
		if j.Slots <= 1 && !j.Gang {
			continue
		}
		width := max(1, int(j.Slots))
		if !c.Policy.Wide {
			return fmt.Errorf("policy %s knows neither tasks of several slots nor gangs: leave --wide and --gang out, or choose pigeon, pigeon-sort, pigeon-x, fifo, priority or static", c.Policy.Name)
		}
		for g, nodes := range groups {
			room, largest := c.room(nodes, width, j.Long)
			switch {
			case room == 0:
				return fmt.Errorf("job %d needs %d slots of one node, and the largest node of group %d has %d that it may use: give larger nodes (--slots-per-node), or narrower tasks", j.Line, width, g, largest)
			case j.Gang && room < len(j.Durations):
				return fmt.Errorf("job %d is a gang of %d tasks of %d slots, and group %d has room for %d: give larger groups, or smaller gangs", j.Line, len(j.Durations), width, g, room)
			}
		}
	}
	return nil
}

func (c *Config) wideGroups() []int {
	if c.Policy.Central {
		return []int{sum(c.Groups)}
	}
	return c.Groups
}

// Nodes returns the slots of every node, by group.
func (c *Config) Nodes() (nodes [][]int) {
	for _, workers := range c.wideGroups() {
		var group []int
		for turn := 0; workers > 0; turn++ {
			slots := 1
			if n := len(c.NodeSlots); n > 0 {
				slots = min(workers, c.NodeSlots[turn%n])
			}
			workers -= slots
			group = append(group, slots)
		}
		nodes = append(nodes, group)
	}
	return nodes
}

// room returns how many tasks of a width a group can hold, and the largest width. The reserved slots
// are together on its first nodes.
func (c *Config) room(nodes []int, width int, long bool) (room, largest int) {
	reserved := 0
	if long {
		workers := sum(nodes)
		reserved = min(workers, int(c.Params.Reserved*float64(workers)+0.5))
	}
	for _, slots := range nodes {
		general := max(0, slots-reserved)
		reserved -= slots - general
		room += general / width
		largest = max(largest, general)
	}
	return room, largest
}

// companions records the slots beside the lead of an attempt.
type companions map[sched.AttemptID][]sched.Addr

// follow is called when a launch has been delivered to a worker.
func (e *engine) follow(to sched.Addr, m *sched.Message) {
	if m.Kind != sched.Launch || !m.Companion || !e.cores[to.Role][to.ID].(sched.WorkerCore).Holds(m.AttemptID()) {
		return
	}
	e.beside[m.AttemptID()] = append(e.beside[m.AttemptID()], to)
}

// endBeside ends an attempt at the slots beside its lead.
func (e *engine) endBeside(m *sched.Message) {
	slots := e.beside[m.AttemptID()]
	delete(e.beside, m.AttemptID())
	for _, to := range slots {
		e.deliver(sched.Addr{}, to, m)
	}
}

// waste adds up for how long slots are kept for claims although unit tasks wait.
type waste struct {
	on    bool
	at    sched.Time
	slots []int // by master, now
	sum   int
}

// watchWaste is called after a step of a master.
func (e *engine) watchWaste(master int32) {
	w := &e.waste
	e.result.Held += sched.Time(w.sum) * (e.now - w.at)
	w.at = e.now
	t := e.view(int(master)).Totals()
	now := min(t.Kept, t.Queued[sched.Short]+t.Queued[sched.Long]-t.Wide)
	w.sum += now - w.slots[master]
	w.slots[master] = now
}
