package queue

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// line is the jobs of one owner, one application and one priority. It exists as long as
// the owner and the application do, or, if the owner has others, while it has a job.
type line struct {
	app      *App
	owner    *shares.Node
	next     *line // of the owner
	lanes    [sched.NumClasses]*lane
	priority int32
	jobs     int32
}

// lane is the runs of a line in the queue of one class.
type lane struct {
	line        *line
	place       *place
	first, last *Run
	tail        *Run     // the first that was not put to the head, nil if there is none
	ranking     *ranking // nil for a class without an order
}

// Enter adds a job, which waits for that application on behalf of the owner, until Exit.
// Of the jobs of one owner those with a higher priority are served first.
func (x *Index) Enter(j *Job, app, owner string, priority int32) {
	x.enterFor(j, x.Hold(app), owner, priority)
}

func (x *Index) enterFor(j *Job, a *App, owner string, priority int32) {
	n := x.tree.Hold(owner)
	j.line = x.lineOf(n, a, priority)
	j.line.jobs++
}

// Exit removes a job without waiting tasks.
func (x *Index) Exit(j *Job) {
	l := j.line
	if l.jobs--; l.jobs == 0 {
		l.leave()
	}
	x.tree.Release(l.owner)
	x.Release(l.app)
}

// Change makes the job one of another owner or priority; its waiting tasks enter the
// tail of the queue.
func (x *Index) Change(j *Job, owner string, priority int32) {
	l := j.line
	x.Reclass(j, j.Class, func(r *Run) {
		if j.line == l {
			x.EnterWith(j, l.app.Demand, l.app.Name, owner, priority)
		}
		moved := x.PushTailAs(r.Class, r.Since, j, r.First, r.Count, r.Attempt)
		moved.Moved = r.Moved
	})
	if j.line == l {
		x.EnterWith(j, l.app.Demand, l.app.Name, owner, priority)
	}
	now := j.line
	j.line = l
	x.Exit(j)
	j.line = now
}

// linesOf returns the first of the node's lines.
func linesOf(n *shares.Node) *line {
	l, _ := n.Waits.(*line)
	return l
}

// lineOf returns the line of that node, application and priority, and makes it.
func (x *Index) lineOf(n *shares.Node, a *App, priority int32) *line {
	first := linesOf(n)
	for l := first; l != nil; l = l.next {
		if l.app == a && l.priority == priority {
			return l
		}
	}
	l := &line{app: a, owner: n, next: first, priority: priority}
	n.Waits, a.named = l, true
	return l
}

// hasPlace reports whether the line made a place, which needs it from then on.
func (l *line) hasPlace() bool {
	for _, k := range l.lanes {
		if k != nil && k == &k.place.lane {
			return true
		}
	}
	return false
}

// leave removes a line without jobs, unless a place needs it.
func (l *line) leave() {
	if l.hasPlace() {
		return
	}
	first := linesOf(l.owner)
	if first == l {
		if l.next != nil {
			l.owner.Waits = l.next
		}
		return
	}
	for o := first; o != nil; o = o.next {
		if o.next == l {
			o.next = l.next
			return
		}
	}
}

// dropLines forgets the lines of an application that nothing names any more.
func (x *Index) dropLines(a *App) {
	x.tree.All(func(n *shares.Node) {
		var kept *line
		last := &kept
		for l := linesOf(n); l != nil; l = l.next {
			if l.app != a {
				*last = l
				last = &l.next
			}
		}
		*last = nil
		if n.Waits = nil; kept != nil {
			n.Waits = kept
		}
	})
}

// oldest returns the run of a lane that has waited longest: the first of those at the tail, or the
// last of those that were put to the head.
func (k *lane) oldest() *Run {
	head := k.last
	if k.tail != nil {
		head = k.tail.prev
	}
	if k.tail == nil || head != nil && head.Since < k.tail.Since {
		return head
	}
	return k.tail
}

// laneOf returns the job's lane in the queue of the class, and makes it.
func (x *Index) laneOf(j *Job, c sched.Class) *lane {
	if k := j.line.lanes[c]; k != nil {
		return k
	}
	return x.newLane(j.line, c)
}

// newLane makes the lane of a line at the place of its owner and application.
func (x *Index) newLane(l *line, c sched.Class) *lane {
	var k *lane
	for o := linesOf(l.owner); o != nil; o = o.next {
		if o.app == l.app && o.lanes[c] != nil {
			p := o.lanes[c].place
			k = &lane{line: l, place: p}
			p.share()
			break
		}
	}
	if k == nil {
		k = &x.newPlace(l, c).lane
	}
	l.lanes[c] = k
	if o := x.orders.By[c]; o != nil {
		k.ranking = &ranking{order: o, class: c, of: x.ranked[c]}
	}
	return k
}

// lanes are those of a place with several priorities in which something waits, the
// highest first.
type lanes struct{ list []*lane }

// share prepares a place for more than one lane.
func (p *place) share() {
	if p.more == nil {
		p.more = &lanes{}
		if p.lane.first != nil {
			p.more.list = append(p.more.list, &p.lane)
		}
	}
}

func (s *lanes) find(k *lane) (int, bool) {
	return slices.BinarySearchFunc(s.list, k, func(a, b *lane) int {
		switch {
		case a.line.priority > b.line.priority:
			return -1
		case a.line.priority < b.line.priority:
			return 1
		}
		return 0
	})
}

// filled is called when a first run waits in the lane.
func (x *Index) filled(k *lane) {
	p := k.place
	if p.more != nil {
		at, _ := p.more.find(k)
		p.more.list = slices.Insert(p.more.list, at, k)
	}
	if p.at < 0 {
		x.wait(p)
	}
}

// emptied is called when nothing waits in the lane any more.
func (x *Index) emptied(k *lane) {
	p := k.place
	if p.more != nil {
		if at, found := p.more.find(k); found {
			p.more.list = slices.Delete(p.more.list, at, at+1)
		}
		if len(p.more.list) > 0 {
			return
		}
	}
	x.unwait(p)
}

// top returns the lane of a place that is served first.
func (p *place) top() *lane {
	if p.more != nil {
		return p.more.list[0]
	}
	return &p.lane
}
