package nodemonitor

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// question is what a worker asked a frontend: a task for a reservation. Until the
// answer the worker waits.
//
//	none ──GetTask──▶ open ──Launch or NoTask with its number──▶ none
//	                  │  ▲ └── the frontend is gone from the roll: NoTask by the shell ──▶ none
//	                  └──┘ no answer for some heartbeats: asked again
//
// A frontend that starts again probes again for what its journal says is unfinished,
// so a question that is given up loses nothing.
//
// One that takes this node for lost, wrongly and perhaps for a moment only, drops
// what it was asked and what it has answered, and nobody here need ever see it: not
// asked again, the worker would wait for ever, with all that is reserved there. If
// the frontend was only slow, it binds a second task, which the worker sends back.
type question struct {
	to     sched.Addr // the zero address: none is open
	job    sched.JobID
	seq    uint64
	asked  sched.Time // last
	repeat sched.Time // asked again after this
}

// Heartbeats without an answer after which a question is asked again: the first
// time, and at most. They double in between.
const (
	askAgainFirst = 4
	askAgainMost  = 64
)

// ask notes a core's question.
func (o *owner) ask(w *worker, to sched.Addr, m *sched.Message) {
	w.question = question{to: to, job: m.Job, seq: m.Seq, asked: o.now, repeat: askAgainFirst * o.heartbeat}
}

// askAgain sends the questions again that nobody has answered in time.
func (o *owner) askAgain() {
	if o.stopping {
		return
	}
	for _, w := range o.workers {
		if w == nil || w.question.to == (sched.Addr{}) || o.now-w.question.asked < w.question.repeat {
			continue
		}
		q := &w.question
		o.log.Info("a frontend has not answered a worker's question for a task; it is asked again", "slot", w.number, "frontend", q.to, "job", q.job, "after", q.repeat)
		o.meter.asked.Inc()
		q.asked, q.repeat = o.now, min(2*q.repeat, askAgainMost*o.heartbeat)
		o.convey(w, q.to, &sched.Message{Kind: sched.GetTask, Job: q.job, Seq: q.seq})
	}
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

// rebuffed gives up what was asked of a frontend that does not take messages. A node
// that does not passes for lost for a while: what cores have told its workers moves
// on to others.
func (o *owner) rebuffed(peer wire.Ref) {
	if peer.Role == sched.Worker {
		o.bar(peer)
		return
	}
	if at, known := o.addrs.Find(peer); known {
		o.forsaken(at)
	}
}
