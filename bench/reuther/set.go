package reuther

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// Set is a set of equal tasks: Each of them of Duration, for every slot.
type Set struct {
	Duration time.Duration // t; with Variable the mean
	Each     int           // n
	// Variable draws the durations from an exponential distribution with the mean
	// Duration, the same ones for each peer and round.
	Variable bool
	// Multilevel is how many tasks one launch runs, one after another; 1 without.
	Multilevel int
}

// String names the set in tables and figures.
func (s Set) String() string {
	text := s.Duration.String()
	if s.Variable {
		text += ", variable"
	}
	if s.Multilevel > 1 {
		text += fmt.Sprintf(", %d a launch", s.Multilevel)
	}
	return text
}

// Plan is which sets are run on how many slots.
type Plan struct {
	Slots int // P
	// Work is t x n, what each slot has to do in a set. The paper has 240 s on 1,408 slots.
	Work      time.Duration
	Durations []time.Duration // t of each set; 0 is a set of Zero tasks for each slot
	Zero      int
	// Variable adds a set with variable durations to each; Multilevel, above 1, one
	// whose launches run that many tasks. Neither is added for tasks of length zero.
	Variable   bool
	Multilevel int
	Rounds     int
	Seed       uint64
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
	case p.Multilevel < 0 || p.Multilevel > 1000:
		return fmt.Errorf("%d tasks a launch are outside 0 to 1000", p.Multilevel)
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
		s := Set{Duration: t, Each: p.each(t), Multilevel: 1}
		sets = append(sets, s)
		if t == 0 {
			continue
		}
		if p.Variable {
			v := s
			v.Variable = true
			sets = append(sets, v)
		}
		if p.Multilevel > 1 && s.Each > 1 {
			m := s
			m.Multilevel = min(p.Multilevel, s.Each)
			sets = append(sets, m)
		}
	}
	return sets
}

// durations returns how long each of the tasks of the set runs, in their order.
func (s Set) durations(slots int, seed uint64) []time.Duration {
	list := make([]time.Duration, slots*s.Each)
	draw := rand.New(rand.NewPCG(seed, uint64(s.Duration)))
	for i := range list {
		list[i] = s.Duration
		if s.Variable {
			list[i] = time.Duration(draw.ExpFloat64() * float64(s.Duration)).Round(time.Millisecond)
		}
	}
	return list
}

// launches returns the program of each launch. The programs are those of coreutils, which
// every peer can start: true for a task of length zero, sleep for others, and a shell that
// runs one sleep after another for several tasks in one launch.
func (s Set) launches(durations []time.Duration) [][]string {
	var list [][]string
	for first := 0; first < len(durations); first += s.Multilevel {
		part := durations[first:min(first+s.Multilevel, len(durations))]
		switch {
		case s.Multilevel > 1:
			program := []string{"sh", "-c", `for t; do sleep "$t"; done`, "sh"}
			for _, d := range part {
				program = append(program, seconds(d))
			}
			list = append(list, program)
		case part[0] == 0:
			list = append(list, []string{"true"})
		default:
			list = append(list, []string{"sleep", seconds(part[0])})
		}
	}
	return list
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
