package probing

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Rules are in which order a worker serves its queue. The zero value is first
// come, first served.
type Rules struct {
	// Next returns the entry to serve of a queue that is not empty; nil serves the head.
	Next func(q *Queue) int
	// Started is called when a task of the entry at i starts, unless it is nil.
	Started func(q *Queue, i int)
	// Sticky keeps a reservation in its place while its job has unbound tasks.
	Sticky bool
}

// Worker is one slot with a queue of reservations and assigned tasks. It runs one
// task at a time; the entry for which it requests a task stays in the queue until the
// answer.
//
// The sequence number grows with every request, so that an answer to an earlier
// one is recognised.
type Worker struct {
	cfg         sched.WorkerConfig
	rules       Rules
	queue       Queue
	long        int // assigned long tasks that wait or run
	seq         uint64
	asking      bool
	at          int // the entry for which a task is requested
	busy        bool
	class       sched.Class // of the task that runs
	central     bool        // it was assigned by the central scheduler
	distributor sched.Addr
	current     sched.AttemptID // running, or the last that ran
}

// NewWorker returns an idle slot.
func NewWorker(cfg sched.WorkerConfig, rules Rules) *Worker {
	if rules.Next == nil {
		rules.Next = func(*Queue) int { return 0 }
	}
	if rules.Started == nil {
		rules.Started = func(*Queue, int) {}
	}
	return &Worker{cfg: cfg, rules: rules, seq: cfg.Seq}
}

// Queue returns the waiting entries, and the index of the one for which a task was
// requested, else -1.
func (w *Worker) Queue() (q *Queue, requested int) {
	if !w.asking {
		return &w.queue, -1
	}
	return &w.queue, w.at
}

// Free reports whether the worker neither runs nor requests a task.
func (w *Worker) Free() bool { return !w.busy && !w.asking }

// RunsLong reports whether a long task runs here.
func (w *Worker) RunsLong() bool { return w.busy && w.class == sched.Long }

// Long returns how many assigned long tasks wait and run here.
func (w *Worker) Long() int { return w.long }

// Step implements [sched.Core].
func (w *Worker) Step(_ sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	switch m.Kind {
	case sched.Probe:
		w.Reserve(sched.Probed{
			Job: m.Job, Distributor: m.Distributor, Class: m.Class, Count: m.Count, App: m.App, Estimate: m.Estimate, Arrival: m.Arrival,
		}, out)
	case sched.CancelProbe:
		w.forget(func(e *Entry) bool { return !e.Assigned() && e.Job == m.Job })
	case sched.Launch:
		w.launch(from, m, out)
	case sched.NoTask:
		if w.asking && m.Seq == w.seq {
			w.asking = false
			w.queue.Remove(w.at, w.at+1)
			w.next(out)
		}
	case sched.Ended:
		w.ended(m, out)
	case sched.Kill:
		w.kill(m, out)
	}
}

// Reserve puts a reservation at the tail of the queue.
func (w *Worker) Reserve(p sched.Probed, out *sched.Actions) {
	w.queue.Push(Entry{Probed: p})
	w.next(out)
}

// next serves the queue when the worker is free: an assigned task starts, a
// reservation asks its distributor for one.
func (w *Worker) next(out *sched.Actions) {
	if !w.Free() || w.queue.Len() == 0 {
		return
	}
	w.at = w.rules.Next(&w.queue)
	e := w.queue.At(w.at)
	if e.Assigned() {
		w.rules.Started(&w.queue, w.at)
		s := out.Send(w.cfg.Master, sched.Started)
		s.Job, s.First, s.Attempt = e.Job, e.First, e.Attempt
		w.central = true
		w.start(e.ID(), e.Class, e.Distributor, out)
		w.queue.Remove(w.at, w.at+1)
		return
	}
	w.asking = true
	w.seq++
	ask := out.Send(e.Distributor, sched.GetTask)
	ask.Job, ask.Seq = e.Job, w.seq
}

func (w *Worker) start(id sched.AttemptID, class sched.Class, distributor sched.Addr, out *sched.Actions) {
	w.busy, w.current, w.class, w.distributor = true, id, class, distributor
	w.act(sched.Start, out)
}

func (w *Worker) act(kind sched.ActionKind, out *sched.Actions) {
	m := out.Do(kind)
	m.Job, m.First, m.Attempt, m.Distributor, m.Class = w.current.Job, w.current.Task, w.current.Attempt, w.distributor, w.class
}

// launch accepts a task: the answer to a request, or an
// assignment of the central scheduler, which waits its turn.
func (w *Worker) launch(from sched.Addr, m *sched.Message, out *sched.Actions) {
	answers := w.asking && m.Seq == w.seq && w.queue.At(w.at).Job == m.Job
	switch again := m.AttemptID() == w.current; {
	case m.Attempt < 1:
		return
	case from.Role == sched.Master:
		if !again { // else it came twice
			w.assign(m, out)
		}
	case !answers && again:
		return // came twice: it was accepted
	case !answers:
		w.refuse(from, m, sched.RefusedUnasked, out)
	case again:
		// Its frontend has given the number twice. The task needs a new one.
		w.asking = false
		w.queue.Remove(w.at, w.at+1)
		w.refuse(from, m, sched.RefusedAgain, out)
		w.next(out)
	default:
		w.asking, w.central = false, false
		w.rules.Started(&w.queue, w.at)
		if e := w.queue.At(w.at); w.rules.Sticky && m.Count > 0 {
			e.Count = m.Count
			w.queue.Changed(w.at)
		} else {
			w.queue.Remove(w.at, w.at+1)
		}
		w.start(m.AttemptID(), m.Class, m.Distributor, out)
	}
}

func (w *Worker) refuse(to sched.Addr, m *sched.Message, why sched.Refusal, out *sched.Actions) {
	r := out.Send(to, sched.Refused)
	r.Job, r.First, r.Attempt, r.Seq, r.Reason = m.Job, m.First, m.Attempt, w.seq, why.String()
}

// assign queues a task of the central scheduler, unless it waits already.
func (w *Worker) assign(m *sched.Message, out *sched.Actions) {
	if w.waits(m.AttemptID()) {
		return
	}
	w.queue.Push(Entry{First: m.First, Attempt: m.Attempt, Probed: sched.Probed{
		Job: m.Job, Distributor: m.Distributor, Class: m.Class, Count: m.Count, App: m.App, Estimate: m.Estimate, Arrival: m.Arrival,
	}})
	w.long++
	w.next(out)
}

// ended reports to the distributor directly, and to the central scheduler when
// the task came from there.
func (w *Worker) ended(m *sched.Message, out *sched.Actions) {
	if !w.busy || w.current != m.AttemptID() {
		return
	}
	w.busy = false
	r := out.Send(w.distributor, sched.Report)
	r.Job, r.First, r.Attempt, r.Outcome, r.Reason = m.Job, m.First, m.Attempt, m.Outcome, m.Reason
	if w.central {
		w.long--
		idle := out.Send(w.cfg.Master, sched.Idle)
		idle.Job, idle.First, idle.Attempt = m.Job, m.First, m.Attempt
	}
	w.next(out)
}

// kill stops the attempt that runs, or forgets the one that waits.
func (w *Worker) kill(m *sched.Message, out *sched.Actions) {
	if w.busy && w.current == m.AttemptID() {
		w.act(sched.Stop, out)
		return
	}
	w.forget(func(e *Entry) bool { return e.Assigned() && e.ID() == m.AttemptID() })
}

// forget removes entries from the queue, but not the one for which a task was requested:
// its answer is in transit.
func (w *Worker) forget(which func(*Entry) bool) {
	var found []int
	for i, e := range w.queue.All() {
		if (w.asking && i == w.at) || !which(e) {
			continue
		}
		if e.Assigned() {
			w.long--
		}
		found = append(found, i)
	}
	for _, i := range slices.Backward(found) {
		w.queue.Remove(i, i+1)
		if w.asking && i < w.at {
			w.at--
		}
	}
}

// Withdraw removes the entries from i to below end and returns them, for another
// worker to serve. They are reservations, and no task is being requested for them.
func (w *Worker) Withdraw(i, end int) []sched.Probed {
	list := make([]sched.Probed, 0, end-i)
	for k, e := range w.queue.All() {
		if k >= end {
			break
		}
		if k >= i {
			list = append(list, e.Probed)
		}
	}
	w.queue.Remove(i, end)
	if w.asking && i < w.at {
		w.at -= end - i
	}
	return list
}

// Slot implements [sched.WorkerCore]: the worker keeps no state that its master follows.
func (w *Worker) Slot() sched.SlotView { return sched.SlotView{} }

// Holds reports whether the slot runs the attempt, or that it waits there: assigned by
// a central scheduler and not started. It looks at the whole queue.
func (w *Worker) Holds(id sched.AttemptID) bool {
	return w.busy && w.current == id || w.waits(id)
}

// waits reports whether an assigned task is in the queue.
func (w *Worker) waits(id sched.AttemptID) bool {
	for _, e := range w.queue.All() {
		if e.Assigned() && e.ID() == id {
			return true
		}
	}
	return false
}
