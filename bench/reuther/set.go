package reuther

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Set is a set of equal tasks: Each of them of Duration, for every slot.
type Set struct {
	Duration time.Duration // t
	Each     int           // n
}

// Plan is which sets are run on how many slots.
type Plan struct {
	Slots int // P
	// Work is t x n, what each slot has to do in a set. The paper has 240 s on 1,408 slots.
	Work      time.Duration
	Durations []time.Duration // t of each set; 0 is a set of Zero tasks for each slot
	Zero      int
	Rounds    int
}

// limits of a plan; a machine with more slots is measured by several of them.
const (
	maxSlots  = 10_000
	maxTasks  = 10_000_000 // of a set
	maxRounds = 100
)

// Check returns an error that names what is wrong with the plan.
func (p *Plan) Check() error {
	switch {
	case p.Slots < 1 || p.Slots > maxSlots:
		return fmt.Errorf("%d slots are outside 1 to %d", p.Slots, maxSlots)
	case len(p.Durations) == 0:
		return fmt.Errorf("no durations of tasks are given")
	case p.Rounds < 1 || p.Rounds > maxRounds:
		return fmt.Errorf("%d rounds are outside 1 to %d", p.Rounds, maxRounds)
	}
	for i, t := range p.Durations {
		switch {
		case slices.Contains(p.Durations[:i], t):
			return fmt.Errorf("tasks of %v are given twice; nothing was run; leave one out", t)
		case t < 0 || t > p.Work:
			return fmt.Errorf("tasks of %v do not fit into %v of work for each slot", t, p.Work)
		case t == 0 && p.Zero < 1:
			return fmt.Errorf("tasks of length zero need a number of them for each slot")
		case p.Slots*p.each(t) > maxTasks:
			return fmt.Errorf("%d tasks of %v are more than %d", p.Slots*p.each(t), t, maxTasks)
		}
	}
	return nil
}

func (p *Plan) each(t time.Duration) int {
	if t == 0 {
		return p.Zero
	}
	return int(p.Work / t)
}

// Sets returns the sets in the order in which they are run.
func (p *Plan) Sets() []Set {
	var sets []Set
	for _, t := range p.Durations {
		sets = append(sets, Set{Duration: t, Each: p.each(t)})
	}
	return sets
}

// programs returns the programs of the set's tasks. They are those of coreutils, which every peer can
// start: true for a task of length zero, sleep for others.
func (s Set) programs(slots int) [][]string {
	program := []string{"true"}
	if s.Duration > 0 {
		program = []string{"sleep", strconv.FormatFloat(s.Duration.Seconds(), 'f', -1, 64)}
	}
	return slices.Repeat([][]string{program}, slots*s.Each)
}
