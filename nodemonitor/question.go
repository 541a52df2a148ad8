package nodemonitor

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// question is what a worker asked a frontend: a task for a reservation. Until the
// answer the worker waits.
//
//	none ──GetTask──▶ open ──Launch or NoTask with its number──▶ none
//	                   └──── the frontend is gone from the roll: NoTask by the shell ──▶ none
//
// A frontend that starts again probes again for what its journal says is unfinished,
// so a question that is given up loses nothing.
type question struct {
	to  sched.Addr // the zero address: none is open
	job sched.JobID
	seq uint64
}

// answered notes that a message of a frontend is the answer to the worker's
// question, if it is.
func (w *worker) answered(from sched.Addr, m *sched.Message) {
	if q := &w.question; q.to == from && q.job == m.Job && q.seq == m.Seq {
		*q = question{}
	}
}

// giveUp has the worker hear, at the end of the batch, that nobody answers its
// question.
func (o *owner) giveUp(w *worker) {
	q := w.question
	w.question = question{}
	o.local = append(o.local, local{to: w, msg: sched.Message{Kind: sched.NoTask, Job: q.job, Seq: q.seq}})
}

// forsaken gives up the questions to a frontend that is gone, or is another process
// by now.
func (o *owner) forsaken(frontend sched.Addr) {
	for _, w := range o.workers {
		if w != nil && w.question.to == frontend && frontend != (sched.Addr{}) {
			o.giveUp(w)
		}
	}
}

// rebuffed gives up what was asked of a peer that does not take messages.
func (o *owner) rebuffed(peer wire.Ref) {
	if at, known := o.roster.Find(peer); known && peer.Role == sched.Distributor {
		o.forsaken(at)
	}
}
