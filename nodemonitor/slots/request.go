package slots

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// request is a worker's request to a frontend for the task of a reservation. The worker
// waits until it is answered.
//
//	none ──GetTask──▶ open ──Launch or NoTask with its number──▶ none
//	                  │  ▲ └── the frontend has left the membership: NoTask by the shell ──▶ none
//	                  └──┘ no answer for some heartbeats: sent again
//
// A frontend that restarts probes again for the unfinished tasks of its journal, so
// nothing is lost with a request that is abandoned.
//
// A frontend that counts this node as lost by mistake, perhaps only for a moment, drops the
// requests of the node and its own answers, and the node cannot notice that. If the request
// were not sent again, the worker would wait forever, with all its reservations. If the
// frontend was only slow, it binds a second task, which the worker yields.
type request struct {
	to     sched.Addr // the zero address: none is open
	job    sched.JobID
	seq    uint64
	sent   sched.Time // last
	repeat sched.Time // sent again after this
}

// Heartbeats without an answer after which a request is sent again: the first time,
// and at most. They double in between.
const (
	repeatFirst = 4
	repeatMost  = 64
)

// answeredBy closes the request if the message is its answer.
func (r *request) answeredBy(from sched.Addr, m *sched.Message) {
	if r.to == from && r.job == m.Job && r.seq == m.Seq {
		*r = request{}
	}
}

// requests sends the messages of workers to frontends and other workers, and keeps their
// requests until they are answered.
type requests struct {
	cfg     *Config
	out     *Outbox
	workers *workerList
}

// send sends a message to a frontend or another worker, in order.
func (s *requests) send(w *worker, to sched.Addr, m *sched.Message) {
	if m.Kind == sched.GetTask {
		w.request = request{to: to, job: m.Job, seq: m.Seq, sent: s.cfg.Now(), repeat: repeatFirst * s.cfg.Heartbeat}
	}
	s.queue(w, to, m)
}

// queue queues a message for its receiver: one for a worker of this node is stepped at the
// end of the batch. A request without a receiver is abandoned.
func (s *requests) queue(w *worker, to sched.Addr, m *sched.Message) {
	if there := s.workers.bySelf[to]; there != nil {
		s.out.toLocal(there, w.self, m)
		return
	}
	ref, known := s.cfg.Names.Ref(to)
	if known && s.out.toPeer(&wire.Item{From: w.ref, To: ref, Msg: *m}) {
		return
	}
	s.cfg.Metrics.undeliverable.Inc()
	if m.Kind == sched.GetTask {
		s.abandon(w)
	}
}

// repeat sends again the requests that were not answered in time.
func (s *requests) repeat() {
	now := s.cfg.Now()
	for _, w := range s.workers.all {
		if w == nil || w.request.to == (sched.Addr{}) || now-w.request.sent < w.request.repeat {
			continue
		}
		r := &w.request
		s.cfg.Log.Info("a frontend has not answered a worker's request for a task; it is sent again", "slot", w.number, "frontend", r.to, "job", r.job, "after", r.repeat)
		s.cfg.Metrics.repeated.Inc()
		r.sent, r.repeat = now, min(2*r.repeat, repeatMost*s.cfg.Heartbeat)
		s.queue(w, r.to, &sched.Message{Kind: sched.GetTask, Job: r.job, Seq: r.seq})
	}
}

// abandon answers the worker's request at the end of the batch, in place of the frontend.
func (s *requests) abandon(w *worker) {
	r := w.request
	w.request = request{}
	s.out.toLocal(w, sched.Addr{}, &sched.Message{Kind: sched.NoTask, Job: r.job, Seq: r.seq})
}

// frontendGone abandons the requests to a frontend.
func (s *requests) frontendGone(frontend sched.Addr) {
	for _, w := range s.workers.all {
		if w != nil && w.request.to == frontend && frontend != (sched.Addr{}) {
			s.abandon(w)
		}
	}
}
