package queue

import (
	"cmp"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// demand names an App with a demand.
type demand struct {
	name string
	Demand
}

// IsUnit reports whether the tasks take one slot each, and start one by one.
func (d Demand) IsUnit() bool { return d == Demand{} }

// Width returns how many slots of a node a task takes.
func (d Demand) Width() int { return max(1, int(d.Slots)) }

// DemandOf returns the demand of a message's tasks.
func DemandOf(m *sched.Message) Demand {
	d := Demand{Slots: m.Slots, Gang: m.Gang}
	if d.Slots == 1 {
		d.Slots = 0
	}
	return d
}

// EnterWith is Enter for a job with a demand.
func (x *Index) EnterWith(j *Job, d Demand, app, owner string, priority int32) {
	a := x.Hold(app)
	if !d.IsUnit() {
		a = x.holdDemand(a, d)
	}
	x.enterFor(j, a, owner, priority)
}

// IsUnit reports whether the application is that of unit tasks.
func (a *App) IsUnit() bool { return a.unit == nil }

// holdDemand returns the App with a demand that belongs to one for unit tasks, which it holds.
func (x *Index) holdDemand(a *App, d Demand) *App {
	key := demand{a.Name, d}
	w := x.wide[key]
	if w == nil {
		w = &App{Name: a.Name, Demand: d, unit: a, Workers: a.Workers}
		if x.wide == nil {
			x.wide = make(map[demand]*App)
		}
		x.wide[key] = w
		at, _ := slices.BinarySearchFunc(a.demands, d, compareDemands)
		a.demands = slices.Insert(a.demands, at, w)
		x.order = slices.Insert(x.order, x.position(a.Name)+1+at, w)
	}
	w.refs++
	return w
}

func compareDemands(w *App, d Demand) int {
	if w.Demand.Gang != d.Gang {
		if d.Gang {
			return -1
		}
		return 1
	}
	return cmp.Compare(w.Demand.Slots, d.Slots)
}

// releaseDemand is Release for an App with a demand, and for that of its unit tasks.
func (x *Index) releaseDemand(w *App) {
	a := w.unit
	if w.refs--; w.refs == 0 {
		if w.named {
			x.dropLines(w)
		}
		delete(x.wide, demand{w.Name, w.Demand})
		at, _ := slices.BinarySearchFunc(a.demands, w.Demand, compareDemands)
		a.demands = slices.Delete(a.demands, at, at+1)
		at = x.position(a.Name) + 1 + at
		x.order = slices.Delete(x.order, at, at+1)
	}
	x.Release(a)
}

// count changes the number of workers of an application, whatever its tasks demand.
func (a *App) count(by int) {
	a.Workers += by
	for _, w := range a.demands {
		w.Workers += by
	}
}

// Wide reports whether tasks with a demand wait, or jobs with such tasks are here.
func (x *Index) Wide() bool { return len(x.wide) > 0 }

// QueuedWide returns how many tasks with a demand wait, and how many slots they need.
func (x *Index) QueuedWide(c sched.Class) (tasks, slots int) {
	for _, w := range x.wide { // sums do not depend on the order
		tasks += w.queued[c]
		slots += w.queued[c] * w.Demand.Width()
	}
	return tasks, slots
}

// FirstWide returns the run with a demand that is served first, among those that are not passed
// over; nil when none may be launched.
func (x *Index) FirstWide(c sched.Class, passed func(*App, sched.Class) bool) *Run {
	var best *place
	for _, a := range x.order {
		if a.unit == nil || a.queued[c] == 0 || passed(a, c) {
			continue
		}
		if p := a.roots[c].leaf(); p != nil && (best == nil || x.goesBefore(p, best)) {
			best = p
		}
	}
	if best == nil {
		return nil
	}
	return x.next(best.top(), c)
}

// Before reports whether a run is served before that of another application or demand, when both
// are first there.
func (x *Index) Before(a, b *Run) bool {
	return x.goesBefore(a.Job.line.lanes[a.Class].place, b.Job.line.lanes[b.Class].place)
}

// EachNext calls f for the runs that follow First, of up to so many jobs of the owner that is served
// next, until f returns true.
func (x *Index) EachNext(s *Service, c sched.Class, jobs int, f func(*Run) bool) {
	first := x.First(s, c)
	if first == nil || f(first) {
		return
	}
	last := first.Job
	for r := first.Job.line.lanes[c].first; r != nil; r = r.next {
		if r.Job != last {
			if jobs--; jobs == 0 {
				return
			}
			last = r.Job
		}
		if r != first && f(r) {
			return
		}
	}
}
