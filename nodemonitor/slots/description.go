package slots

import (
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Describe returns the slots for a snapshot, or for a hello. A hello also lists the
// attempts whose results are kept.
func (s *Workers) Describe(hello bool) []wire.Slot {
	if s.admission.left {
		return nil
	}
	list, at := s.listed()
	slots := make([]wire.Slot, len(list))
	for i, w := range list {
		slots[i] = w.describe(s.serves, s.cfg.Policy.SingleMaster(), s.cfg.Names)
	}
	if hello {
		s.workers.described = list
	}
	if hello && len(slots) > 0 {
		addKept(s.cfg.Results, slots, at)
	}
	return slots
}

// listed returns the workers that the master knows, or is about to, and the index in that list by
// worker, -1 for the others.
func (s *Workers) listed() (list []*worker, at []int) {
	list, at = make([]*worker, 0, len(s.workers.all)), make([]int, len(s.workers.all))
	for i, w := range s.workers.all {
		at[i] = -1
		if w != nil && !w.leaving && !w.withdrawn {
			at[i] = len(list)
			list = append(list, w)
		}
	}
	return list, at
}

// keptAt returns which of the listed workers a kept result of a slot is with: its own, or the first
// when the node does not have that any more, because it was removed or was one of a former process.
func keptAt(slot int32, at []int) int {
	if slot < 0 || int(slot) >= len(at) {
		return 0
	}
	return max(0, at[slot])
}

// maxKeptNamed bounds the kept results named in a hello. A master may launch
// again an attempt that is left out; the node answers with the result.
const maxKeptNamed = 50_000

// addKept adds the attempts that ended here and are not acknowledged. at is the index in slots by
// worker.
func addKept(kept *results.Reporter, slots []wire.Slot, at []int) {
	named := 0
	kept.Each(0, func(_ sched.Addr, r *results.Result) bool {
		if named++; named > maxKeptNamed {
			return false
		}
		i := keptAt(r.Slot, at)
		slots[i].Kept = append(slots[i].Kept, r.ID)
		return true
	})
}

// describe returns the worker as it is reported to the master.
func (w *worker) describe(serves []string, numbered bool, names *addrmap.Map) wire.Slot {
	d := wire.Slot{
		Slot: w.number, Seq: w.seq(), Reserved: w.reserved(), Fixed: w.classic, Serves: serves, Number: w.claim(numbered),
	}
	if w.classic {
		d.Serves = []string{w.app}
	}
	first := w.firstRunning()
	for _, a := range w.attempts.list {
		if a != first {
			d.Held = append(d.Held, wire.Held{
				ID: a.id, Class: a.class, App: a.app, Frontend: nameOf(names, a.distributor), FrontendAddress: a.FrontendAddress, JobName: a.JobName,
				Estimate: a.estimate, Suspended: a.phase == suspended, Owner: a.owner,
			})
		}
	}
	if a := first; a != nil {
		d.Running, d.Class, d.App, d.JobName = a.id, a.class, a.app, a.JobName
		d.Frontend, d.FrontendAddress = nameOf(names, a.distributor), a.FrontendAddress
		d.Owner, d.Estimate, d.Ran = a.owner, a.estimate, sched.Time(a.service())
	}
	return d
}

// nameOf returns the name of a frontend.
func nameOf(names *addrmap.Map, a sched.Addr) wire.Ref {
	ref, _ := names.Ref(a)
	return ref
}
