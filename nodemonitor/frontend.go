package nodemonitor

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// frontend is where results go. It belongs to the owner goroutine; number i of
// the address map is entry i of the owner's list.
//
//	fresh ──notice published, or call begun──▶ told ──acknowledged──▶ gone
//	  ▲                                         │
//	  └──────── a heartbeat has passed ─────────┘
type frontend struct {
	ref     wire.Ref
	address string // where it serves other daemons, as it said last
	fresh   list   // not sent yet
	told    list   // sent, the longest ago first
	dirty   bool   // in the owner's list of those with fresh results

	calling   bool // a Reports call is under way
	failures  int  // calls without an answer since the last good one
	notBefore sched.Time
}

// One message holds this many reports at most, and bytes by wire.Item's bound: a
// NATS server takes 1 MiB.
const (
	maxReports     = 1000
	maxReportBytes = 900_000
)

// frontendOf returns the record of a distributor, nil when there cannot be one.
func (o *owner) frontendOf(a sched.Addr) *frontend {
	if a.Role != sched.Distributor || a.ID < 0 {
		return nil
	}
	for len(o.frontends) <= int(a.ID) {
		ref, ok := o.addrs.Ref(sched.Addr{Role: sched.Distributor, ID: int32(len(o.frontends))}) //nolint:gosec // below addrmap.Limit
		if !ok {
			return nil
		}
		o.frontends = append(o.frontends, &frontend{ref: ref})
	}
	return o.frontends[a.ID]
}

// keep takes the end of an attempt into the results that are owed.
func (o *owner) keep(f *frontend, r result) {
	r.owner = f
	if !o.results.keep(r, &f.fresh) {
		o.again(r.id)
		return
	}
	o.mark(f)
}

// again sends a kept result once more.
func (o *owner) again(id sched.AttemptID) {
	place, kept := o.results.index[id]
	if !kept {
		return
	}
	r := &o.results.table[place]
	o.results.move(place, &r.owner.fresh)
	o.mark(r.owner)
}

func (o *owner) mark(f *frontend) {
	if !f.dirty {
		f.dirty = true
		o.dirty = append(o.dirty, f)
	}
}

// acknowledged forgets results that a frontend has journaled.
func (o *owner) acknowledged(ids []sched.AttemptID) {
	n := 0
	for _, id := range ids {
		if o.results.drop(id) {
			n++
		}
	}
	o.meter.acknowledged.Add(float64(n))
}

// unknown forgets a job that its frontend does not know, and kills what is here of
// it (design.md, section 2, rule 2).
func (o *owner) unknown(f *frontend, job sched.JobID) {
	o.meter.dropped.Add(float64(o.results.dropJob(job, &f.fresh, &f.told)))
	for _, w := range o.live() {
		for _, a := range slices.Clone(w.attempts) {
			if a.id.Job == job && o.frontends[a.owner.ID] == f {
				o.log.Warn("killing an attempt of a job that its frontend does not know", "attempt", a.id, "frontend", f.ref.Name)
				o.disown(w, a)
			}
		}
	}
}

// disown kills an attempt that nobody asked for. Of one that only waited, the
// central scheduler that had it wait here is told the end.
func (o *owner) disown(w *worker, a *attempt) {
	id, waited := a.id, a.phase == waiting
	o.killed(w, sched.Addr{}, &sched.Message{Kind: sched.Kill, Job: id.Job, First: id.Task, Attempt: id.Attempt, Epoch: o.epoch})
	if waited && w.find(id) == nil {
		o.toMaster(w, &sched.Message{Kind: sched.Idle, Job: id.Job, First: id.Task, Attempt: id.Attempt})
	}
}

// take returns one message of results that are due, the fresh ones before those
// told a heartbeat ago, and notes them as sent now. It reuses items.
func (o *owner) take(f *frontend, items []wire.Item) []wire.Item {
	items = items[:0]
	size := 0
	take := func(place int32) {
		r := &o.results.table[place]
		r.sentAt = o.now
		items = append(items, wire.Item{})
		it := &items[len(items)-1]
		o.results.item(r, o.self, it)
		size += it.Size()
		o.results.move(place, &f.told)
	}
	room := func() bool { return len(items) < maxReports && size < maxReportBytes }
	for f.fresh.n > 0 && room() {
		take(f.fresh.first)
	}
	fresh := len(items)
	o.meter.reported.Add(float64(fresh))
	for f.told.n > fresh && room() && o.due(f) {
		take(f.told.first)
	}
	o.meter.repeated.Add(float64(len(items) - fresh))
	return items
}

// due reports whether the result told the longest ago is to be told again.
func (o *owner) due(f *frontend) bool {
	return f.told.n > 0 && o.now-o.results.table[f.told.first].sentAt >= o.heartbeat
}
