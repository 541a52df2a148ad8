package coretest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// checked is a core of any role.
type checked interface {
	sched.Core
	Valid() error
}

// recorded is a core with everything it was told and did.
type recorded struct {
	core   checked
	make   func() sched.Core
	inputs []input
	lines  []string
}

type input struct {
	num  int // of the step, among those of all cores
	at   place
	now  sched.Time
	from sched.Addr
	msg  sched.Message
	done int // how many lines the core had written after it
}

func (c *Cluster) record(core checked, fresh func() sched.Core) *recorded {
	r := &recorded{core: core, make: fresh}
	c.cores = append(c.cores, r)
	return r
}

// take steps a core, notes what it was told and did, and checks its invariants.
func (c *Cluster) take(r *recorded, at place, from sched.Addr, m *sched.Message) []sched.Action {
	var out sched.Actions
	c.steps++
	in := input{num: c.steps, at: at, now: c.now, from: from, msg: *m}
	r.core.Step(in.now, in.from, m, &out)
	for i := range out.List() {
		r.lines = append(r.lines, sched.DescribeAction(&out.List()[i]))
	}
	in.done = len(r.lines)
	r.inputs = append(r.inputs, in)
	if err := r.core.Valid(); err != nil {
		c.failf("%s, after %s: %w", at, sched.Describe(&in.msg), err)
	}
	return out.List()
}

// History prints the steps of all cores after the given one: what each was told,
// and below it what it did. It gives the number of the last step.
func (c *Cluster) History(after int) (text string, last int) {
	type step struct {
		input
		lines []string
	}
	var steps []step
	for _, r := range c.cores {
		done := 0
		for _, in := range r.inputs {
			if in.num > after {
				steps = append(steps, step{in, r.lines[done:in.done]})
			}
			done = in.done
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return a.num - b.num })
	var b strings.Builder
	for _, s := range steps {
		from := s.from.String()
		if s.from == (sched.Addr{}) {
			from = "shell"
		}
		fmt.Fprintf(&b, "%s <- %s: %s\n", s.at, from, sched.Describe(&s.msg))
		for _, line := range s.lines {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String(), c.steps
}

// replay feeds a fresh core the same inputs; it must do the same.
func (r *recorded) replay() error {
	core := r.make()
	var lines []string
	for i := range r.inputs {
		in := r.inputs[i]
		var out sched.Actions
		core.Step(in.now, in.from, &in.msg, &out)
		for k := range out.List() {
			lines = append(lines, sched.DescribeAction(&out.List()[k]))
		}
	}
	if slices.Equal(lines, r.lines) {
		return nil
	}
	for i := range min(len(lines), len(r.lines)) {
		if lines[i] != r.lines[i] {
			return fmt.Errorf("the same inputs gave %q, then %q", r.lines[i], lines[i])
		}
	}
	return fmt.Errorf("the same inputs gave %d actions, then %d", len(r.lines), len(lines))
}
