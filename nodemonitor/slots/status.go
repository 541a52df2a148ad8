package slots

import (
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Status is what the status page shows of a worker: one slot, under Kairos several.
type Status struct {
	Slot     int32          `json:"slot"`
	Worker   *int32         `json:"worker,omitempty"` // its number in the cluster, where it has one
	Seq      uint64         `json:"seq"`
	Reserved bool           `json:"reserved"`
	App      string         `json:"app,omitempty"` // of a classic backend
	Job      string         `json:"job,omitempty"` // of what runs
	Task     int32          `json:"task,omitempty"`
	Attempt  int32          `json:"attempt,omitempty"` // 0: idle
	Held     []HeldStatus   `json:"held,omitempty"`    // beside it
	Request  *RequestStatus `json:"request,omitempty"` // for a task, not answered yet
}

// HeldStatus is an attempt in a slot other than the running one.
type HeldStatus struct {
	Job     string `json:"job"`
	Task    int32  `json:"task"`
	Attempt int32  `json:"attempt"`
	State   string `json:"state"`
}

// RequestStatus is a request for a task that no frontend has answered yet.
type RequestStatus struct {
	Frontend string     `json:"frontend"`
	Job      string     `json:"job"`
	Repeat   sched.Time `json:"repeat_ns"` // it is sent again after this
}

// maxHeldShown bounds the attempts shown of a slot besides the running one.
const maxHeldShown = 100

// Status returns the workers' states.
func (s *Workers) Status() (list []Status) {
	for _, w := range s.workers.live() {
		list = append(list, w.status(s.cfg.Policy.SingleMaster(), s.cfg.Names))
	}
	return list
}

// status returns the worker for the status page.
func (w *worker) status(numbered bool, names *addrmap.Map) Status {
	v := Status{Slot: w.number, Seq: w.seq(), Reserved: w.reserved(), App: w.app}
	if numbered && w.core != nil {
		number := w.self.ID // the page is encoded later, by another goroutine
		v.Worker = &number
	}
	first := w.firstRunning()
	if first != nil {
		v.Job, v.Task, v.Attempt = first.JobName, first.id.Task, first.id.Attempt
	}
	for _, a := range w.attempts.list {
		if a != first && len(v.Held) < maxHeldShown {
			v.Held = append(v.Held, HeldStatus{a.JobName, a.id.Task, a.id.Attempt, a.phase.String()})
		}
	}
	if r := w.request; r.to != (sched.Addr{}) {
		v.Request = &RequestStatus{nameOf(names, r.to).Name, r.job.String(), r.repeat}
	}
	return v
}
