package master

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// ownerMetrics export what owners use and wait for, as the core shows it. Only the owner
// goroutine calls its methods.
type ownerMetrics struct {
	used            *telemetry.OwnerCounter
	running, queued *telemetry.OwnerGauge
	known           map[string]usedBefore // by owner, of the views so far
	views           int                   // so far
	next            time.Time             // when another view is taken
}

// usedBefore is what an owner had used when it was seen last.
type usedBefore struct {
	used [sched.NumClasses]sched.Time
	view int // in which it was seen
}

const (
	// ownersEvery is how often owners are looked at.
	ownersEvery = 2 * time.Second
	// ownersRest is how many times as long as a look takes the owners are then left
	// alone, so that very many owners cost a master one hundredth of its time.
	ownersRest = 100
	// forgetOwners is how many owners are known that are not seen any more, before they
	// are forgotten.
	forgetOwners = 10_000
)

func newOwnerMetrics(m *telemetry.Metrics, class telemetry.Label) ownerMetrics {
	return ownerMetrics{
		used:    m.OwnerCounter("owner_slot_seconds_total", "Seconds for which tasks of an owner, without owners below it, have run, counted at their ends; under policies that share workers between owners.", class),
		running: m.OwnerGauge("owner_running_tasks", "Tasks of an owner, without owners below it, that run.", class),
		queued:  m.OwnerGauge("owner_queued_tasks", "Tasks of an owner, without owners below it, that wait for a worker.", class),
		known:   map[string]usedBefore{},
	}
}

// refresh takes another view of the owners, when the last one is old enough.
func (e *ownerMetrics) refresh(view sched.GroupView) {
	began := time.Now()
	if began.Before(e.next) {
		return
	}
	e.apply(began, view.Owners())
	e.next = began.Add(max(ownersEvery, ownersRest*time.Since(began)))
}

// ownPart is the part of an owner in a view without the owners below it.
type ownPart struct {
	running, queued [sched.NumClasses]int
	used            [sched.NumClasses]sched.Time // since the last view
}

// apply exports a view: the owners with their subtrees, each after its parent, the
// first of them the root.
func (e *ownerMetrics) apply(now time.Time, list []sched.OwnerView) {
	if len(list) == 0 {
		return
	}
	e.views++
	parts := make([]ownPart, len(list))
	var above []int // the parents of the owner that is looked at
	for i := range list {
		v := &list[i]
		parts[i] = ownPart{v.Running, v.Queued, e.usedSince(v)}
		for len(above) > 0 && !isAbove(list[above[len(above)-1]].Owner, v.Owner) {
			above = above[:len(above)-1]
		}
		if len(above) > 0 {
			parent := &parts[above[len(above)-1]]
			for c := range v.Running {
				parent.running[c] -= v.Running[c]
				parent.queued[c] -= v.Queued[c]
				parent.used[c] -= parts[i].used[c]
			}
		}
		above = append(above, i)
	}
	// Parts of children are whole until here; those of parents are their remainders.
	for i := range list {
		e.credit(now, list[i].Owner, &parts[i])
	}
	for c, used := range list[0].Used {
		e.used.SetTotal(c, used.Seconds())
	}
	e.show(list, parts)
	e.forget(len(list))
}

func isAbove(path, owner string) bool { return path != owner && api.IsBelow(owner, path) }

// usedSince returns what an owner has used since it was seen last. An owner that the core
// has forgotten meanwhile begins at 0.
func (e *ownerMetrics) usedSince(v *sched.OwnerView) (since [sched.NumClasses]sched.Time) {
	before := e.known[v.Owner]
	for c, used := range v.Used {
		if since[c] = used - before.used[c]; since[c] < 0 {
			since[c] = used
		}
	}
	e.known[v.Owner] = usedBefore{v.Used, e.views}
	return since
}

// credit counts the part of an owner. The remainder of one without its own tasks is of
// owners below it that are not shown any more: it stays in the total only.
func (e *ownerMetrics) credit(now time.Time, owner string, p *ownPart) {
	if p.tasks() == 0 {
		return
	}
	for c, used := range p.used {
		e.used.Credit(now, owner, c, max(0, used).Seconds())
	}
}

func (p *ownPart) tasks() (n int) {
	for c := range p.running {
		n += p.running[c] + p.queued[c]
	}
	return n
}

// show sets the gauges.
func (e *ownerMetrics) show(list []sched.OwnerView, parts []ownPart) {
	running, queued := map[string][]float64{}, map[string][]float64{}
	for i := range list {
		owner := list[i].Owner
		if parts[i].tasks() == 0 {
			continue
		}
		if !e.used.IsShown(owner) {
			owner = telemetry.OtherOwners
		}
		addCounts(running, owner, &parts[i].running)
		addCounts(queued, owner, &parts[i].queued)
	}
	e.running.Set(running)
	e.queued.Set(queued)
}

func addCounts(values map[string][]float64, owner string, counts *[sched.NumClasses]int) {
	v := values[owner]
	if v == nil {
		v = make([]float64, sched.NumClasses)
		values[owner] = v
	}
	for c, n := range counts {
		v[c] += float64(n)
	}
}

// forget forgets owners that were not seen in the last view, when there are many.
func (e *ownerMetrics) forget(seen int) {
	if len(e.known) < seen+forgetOwners {
		return
	}
	for owner, b := range e.known {
		if b.view != e.views {
			delete(e.known, owner)
		}
	}
}
