package queue

import (
	"cmp"
	"fmt"
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// Valid checks the order of owners in the index; tests call it after each step. It looks
// at everything that waits.
func (x *Index) Valid() error {
	if err := x.tree.Valid(); err != nil {
		return err
	}
	var queued [sched.NumClasses]int
	for _, a := range x.order {
		for c, root := range a.roots {
			n, err := root.valid()
			if err != nil {
				return fmt.Errorf("application %q, %v tasks: %w", a.Name, sched.Class(c), err)
			}
			queued[c] += n
		}
	}
	if queued != x.queued {
		return fmt.Errorf("%v tasks wait in the places of their owners, the index counts %v", queued, x.queued)
	}
	var err error
	x.tree.All(func(n *shares.Node) { err = cmp.Or(err, x.validLines(n)) })
	if err != nil {
		return err
	}
	for c, n := range queued {
		if got := x.tree.Root().Waiting(sched.Class(c)); got != n {
			return fmt.Errorf("%d tasks wait, the tree of owners counts %d", n, got)
		}
	}
	return nil
}

// validLines checks that an owner keeps no lines but those with a job or a place, and one more, and
// none for an application that is forgotten.
func (x *Index) validLines(n *shares.Node) error {
	idle := 0
	for l := linesOf(n); l != nil; l = l.next {
		if known := x.apps[l.app.Name]; known != l.app && x.wide[demand{l.app.Name, l.app.Demand}] != l.app {
			return fmt.Errorf("owner %q keeps a line for application %q, which nothing names any more", n.Path(), l.app.Name)
		}
		if l.jobs == 0 && !l.hasPlace() {
			idle++
		}
	}
	if idle > 1 {
		return fmt.Errorf("owner %q keeps %d lines that have neither a job nor a place", n.Path(), idle)
	}
	return nil
}

// valid checks the tasks that wait below a place, and returns their number.
func (p *place) valid() (tasks int, err error) {
	if p == nil {
		return 0, nil
	}
	if p.kids != nil && len(p.kids.slots) > 0 {
		if p.first != nil || p.more != nil && len(p.more.list) > 0 {
			return 0, fmt.Errorf("tasks wait at owner %q, and below it", p.node().Path())
		}
		return p.kids.valid(p)
	}
	if p.up == nil {
		return 0, nil
	}
	p.each(func(k *lane) {
		if k.first == nil {
			err = fmt.Errorf("nothing waits in a lane of owner %q", p.node().Path())
		}
		var tail *Run
		for r := k.first; r != nil; r = r.next {
			tasks += int(r.Count)
			if tail == nil && r.seq >= 0 {
				tail = r
			}
			if r.Job.line != k.line || r.Class != p.class || (r.next == nil) != (r == k.last) {
				err = fmt.Errorf("a run is in the wrong lane of owner %q", p.node().Path())
			}
			if r == r.Job.runs { // once for each job
				err = cmp.Or(err, r.Job.valid())
			}
		}
		if k.tail != tail {
			err = fmt.Errorf("the tail of a lane of owner %q is not where it should be", p.node().Path())
		}
	})
	if p.more != nil {
		last := int64(math.MaxInt64)
		for _, k := range p.more.list {
			if int64(k.line.priority) >= last {
				err = fmt.Errorf("priorities of owner %q are out of order", p.node().Path())
			}
			last = int64(k.line.priority)
		}
	}
	return tasks, err
}

// valid checks the counts of a job.
func (j *Job) valid() error {
	var queued, aside int32
	j.EachRun(func(r *Run) {
		queued += r.Count
		if r.Class != j.Class {
			aside += r.Count
		}
	})
	if queued != j.Queued || aside != j.aside {
		return fmt.Errorf("job %v counts %d tasks that wait, %d of them aside; its runs have %d and %d", j.ID, j.Queued, j.aside, queued, aside)
	}
	return nil
}

func (h *heap) valid(up *place) (tasks int, err error) {
	for i, s := range h.slots {
		p := s.place
		n, err := p.valid()
		switch {
		case err != nil:
			return 0, err
		case n == 0 || p.up != up || int(p.at) != i || p.node().Parent() != up.node():
			return 0, fmt.Errorf("the place of owner %q is not where it should be", p.node().Path())
		case s.key != p.key():
			return 0, fmt.Errorf("the key of owner %q is %v, recorded as %v", p.node().Path(), p.key(), s.key)
		case i > 0 && s.before(h.slots[(i-1)/arity]):
			return 0, fmt.Errorf("owner %q is out of order", p.node().Path())
		}
		tasks += n
	}
	return tasks, nil
}

var _ shares.Watcher = watcher{}
