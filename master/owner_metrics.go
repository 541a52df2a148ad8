package master

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// ownerMetrics export what owners use and wait for, as the core shows it. Only the owner
// goroutine calls its methods.
type ownerMetrics struct {
	labels          telemetry.OwnerLabels
	used            *prometheus.CounterVec
	running, queued *prometheus.GaugeVec
	shown           map[string]bool       // values of the label that the gauges have
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
		used:    m.OwnerCounters("owner_slot_seconds_total", "Seconds for which tasks of an owner, without owners below it, have run, counted at their ends; under policies that share workers between owners.", class),
		running: m.OwnerGauges("owner_running_tasks", "Tasks of an owner, without owners below it, that run.", class),
		queued:  m.OwnerGauges("owner_queued_tasks", "Tasks of an owner, without owners below it, that wait for a worker.", class),
		shown:   map[string]bool{},
		known:   map[string]usedBefore{},
	}
}

// refresh takes another view of the owners, when the last one is old enough.
func (e *ownerMetrics) refresh(view sched.GroupView) {
	began := time.Now()
	if began.Before(e.next) {
		return
	}
	e.apply(view.Owners())
	e.next = began.Add(max(ownersEvery, ownersRest*time.Since(began)))
}

// ownPart is the part of an owner in a view without the owners below it.
type ownPart struct {
	running, queued [sched.NumClasses]int
	used            [sched.NumClasses]sched.Time // since the last view
}

// apply exports a view: the owners with their subtrees, each after its parent, the
// first of them the root.
func (e *ownerMetrics) apply(list []sched.OwnerView) {
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
		e.addUsed(list[i].Owner, &parts[i])
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

// addUsed counts the part of an owner. The remainder of one without its own tasks is of
// owners below it that the core no longer shows.
func (e *ownerMetrics) addUsed(owner string, p *ownPart) {
	label := telemetry.OtherOwners
	if p.tasks() > 0 {
		label = e.labels.Of(owner)
	}
	for c, used := range p.used {
		e.used.WithLabelValues(label, sched.Class(c).String()).Add(max(0, used).Seconds())
	}
}

func (p *ownPart) tasks() (n int) {
	for c := range p.running {
		n += p.running[c] + p.queued[c]
	}
	return n
}

// show sets the gauges, and removes those of owners without tasks.
func (e *ownerMetrics) show(list []sched.OwnerView, parts []ownPart) {
	sums := map[string]*ownPart{}
	for i := range list {
		if parts[i].tasks() == 0 {
			continue
		}
		label := e.labels.Of(list[i].Owner)
		if sums[label] == nil {
			sums[label] = &ownPart{}
		}
		sums[label].addTasks(&parts[i])
	}
	for label := range e.shown {
		if sums[label] == nil {
			e.running.DeletePartialMatch(prometheus.Labels{"owner": label})
			e.queued.DeletePartialMatch(prometheus.Labels{"owner": label})
			delete(e.shown, label)
		}
	}
	for label, sum := range sums {
		e.shown[label] = true
		for c := range sum.running {
			class := sched.Class(c).String()
			e.running.WithLabelValues(label, class).Set(float64(sum.running[c]))
			e.queued.WithLabelValues(label, class).Set(float64(sum.queued[c]))
		}
	}
}

func (p *ownPart) addTasks(of *ownPart) {
	for c := range p.running {
		p.running[c] += of.running[c]
		p.queued[c] += of.queued[c]
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
