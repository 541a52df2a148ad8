package slots

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Describe returns the slots for a snapshot, or for a hello. A hello also lists the
// attempts whose results are kept.
func (s *Workers) Describe(hello bool) []wire.Slot {
	if s.admission.stopping {
		return nil
	}
	slots := make([]wire.Slot, 0, len(s.workers.all))
	at := make([]int, len(s.workers.all))
	if hello {
		s.workers.described = make([]*worker, 0, len(s.workers.all))
	}
	for i, w := range s.workers.all {
		at[i] = -1
		if w != nil && !w.leaving && !w.withdrawn {
			at[i] = len(slots)
			slots = append(slots, w.describe(s.serves, s.cfg.Policy.SingleMaster(), s.cfg.Names))
			if hello {
				s.workers.described = append(s.workers.described, w)
			}
		}
	}
	if hello && len(slots) > 0 {
		addKept(s.cfg.Kept, slots, at)
	}
	return slots
}

// maxKeptNamed bounds the kept results named in a hello. A master may launch
// again an attempt that is left out; the node answers with the result.
const maxKeptNamed = 50_000

// addKept adds the attempts that ended here and are not acknowledged, each to its slot, or
// to the first when the node does not have that any more: it was removed, or it was one of a
// former process. at is the index in slots by worker.
func addKept(kept Kept, slots []wire.Slot, at []int) {
	named := 0
	kept.EachKept(func(r *results.Result) bool {
		if named++; named > maxKeptNamed {
			return false
		}
		i := 0
		if r.Slot >= 0 && int(r.Slot) < len(at) {
			i = max(0, at[r.Slot])
		}
		slots[i].Kept = append(slots[i].Kept, r.ID)
		return true
	})
}

// describe returns the worker as it is reported to the master.
func (w *worker) describe(serves []string, numbered bool, names Directory) wire.Slot {
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
func nameOf(names Directory, a sched.Addr) wire.Ref {
	ref, _ := names.Ref(a)
	return ref
}
