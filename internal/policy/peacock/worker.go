package peacock

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// phase is what a worker does.
type phase uint8

const (
	idle    phase = iota // nothing waits here
	asking               // a task was requested for the head of the queue
	running              // a task runs
)

// Worker is one slot with its elastic queue.
//
// The slot's sequence number grows with every change of its phase. It is sent along
// with a GetTask and comes back with the answer, so an answer that is late or
// comes twice is recognised.
type Worker struct {
	cfg      sched.WorkerConfig
	interval sched.Time
	seq      uint64
	queue    elastic
	state    state
	told     sched.Time // when a distributor sent that state, by the clock here
	rotation rotation

	phase   phase
	since   sched.Time   // of the phase
	head    sched.Probed // the probe for which a task was requested, or of the running task
	current sched.AttemptID
}

// NewWorker returns an idle slot without a list of the other workers.
func NewWorker(cfg sched.WorkerConfig, o Options) *Worker {
	return &Worker{
		cfg: cfg, interval: o.interval(cfg.Params), seq: cfg.Seq, state: state{workers: 1}, told: never, queue: elastic{printed: o.Printed},
	}
}

// Slot implements [sched.WorkerCore].
func (w *Worker) Slot() sched.SlotView { return sched.SlotView{Seq: w.seq} }

// Waiting returns how many probes wait here, and how many are marked to move on.
func (w *Worker) Waiting() (waiting, marked int) {
	return len(w.queue.waiting), len(w.queue.marked)
}

// Step implements [sched.Core].
func (w *Worker) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	switch m.Kind {
	case sched.Probe:
		w.probe(now, m, out)
	case sched.Launch:
		w.launch(now, from, m, out)
	case sched.NoTask:
		w.noTask(now, from, m, out)
	case sched.Rotated:
		w.rotated(now, from, m, out)
	case sched.Ended:
		w.ended(now, m, out)
	case sched.Kill:
		if w.phase == running && w.current == m.AttemptID() {
			w.act(sched.Stop, out)
		}
	case sched.Members:
		w.members(m)
		w.serve(now, out) // a probe in transit may have come back
	case sched.Timeout:
		if w.rotation.due > 0 && m.Token == w.rotation.due { // else it came with a batch before
			w.tick(now, out)
		}
	}
	w.setTimer(now, out)
}

// never is earlier than all that a clock here can show.
const never = sched.Time(math.MinInt64 / 4)

// recordState records the shared state that a message carries, which a distributor sent
// at told, unless a later one is known.
func (w *Worker) recordState(told sched.Time, m *sched.Message) {
	if m.More != nil && told >= w.told {
		w.state.load, w.told = m.More.Load, told
	}
}

// probe queues a new reservation.
func (w *Worker) probe(now sched.Time, m *sched.Message, out *sched.Actions) {
	p := sched.Probed{
		Job: m.Job, Distributor: m.Distributor, Class: m.Class, Count: m.Count, App: m.App, Estimate: m.Estimate, Arrival: m.Arrival,
	}
	if m.More != nil {
		p.Threshold = m.More.Threshold
	}
	w.recordState(now, m)
	w.enqueue(now, p)
	w.serve(now, out)
}

// enqueue puts a probe in its place. One that cannot be meant is left out.
func (w *Worker) enqueue(now sched.Time, p sched.Probed) {
	if p.Distributor.Role != sched.Distributor || p.Distributor.ID < 0 || p.Threshold < 0 {
		return
	}
	p.Estimate = sched.BoundEstimate(p.Estimate)
	w.queue.enqueue(now, inSlot{busy: w.phase != idle, left: w.left(now)}, p, w.state)
}

// left is the remaining time of the task in the slot, by its estimate. One that
// is being fetched has all of it left.
func (w *Worker) left(now sched.Time) sched.Time {
	switch w.phase {
	case asking:
		return w.head.Estimate
	case running:
		return max(0, w.head.Estimate-(now-w.since))
	default:
		return 0
	}
}

// serve makes an idle slot ask for the task of the next probe (late binding).
func (w *Worker) serve(now sched.Time, out *sched.Actions) {
	if w.phase != idle {
		return
	}
	p, ok := w.queue.next()
	if !ok {
		return
	}
	w.enter(asking, now)
	w.head = p
	m := out.Send(p.Distributor, sched.GetTask)
	m.Job, m.Seq = p.Job, w.seq
}

func (w *Worker) enter(p phase, now sched.Time) {
	w.phase, w.since = p, now
	w.seq++
}

// launch starts the task that the worker requested. Any other launch is refused: its
// distributor was restarted, or took this worker for lost.
func (w *Worker) launch(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch answers, again := w.answers(from, m), w.current == m.AttemptID(); {
	case m.Attempt < 1:
	case answers && again:
		// Its frontend has given the number twice. The task needs a new one.
		w.recordState(now, m)
		w.refuse(from, m, sched.RefusedAgain, out)
		w.enter(idle, now)
		w.serve(now, out)
	case answers:
		w.recordState(now, m)
		w.enter(running, now)
		w.current = m.AttemptID()
		w.act(sched.Start, out)
	case !again: // else it came twice
		w.refuse(from, m, sched.RefusedLate, out)
	}
}

func (w *Worker) refuse(to sched.Addr, m *sched.Message, why sched.Refusal, out *sched.Actions) {
	r := out.Send(to, sched.Refused)
	r.Job, r.First, r.Attempt, r.Seq, r.Reason = m.Job, m.First, m.Attempt, w.seq, why.String()
}

// answers reports whether a message is the answer to the request that is open.
func (w *Worker) answers(from sched.Addr, m *sched.Message) bool {
	return w.phase == asking && from == w.head.Distributor && m.Job == w.head.Job && m.Seq == w.seq
}

// noTask drops the probe for which a task was requested. The shell sends it when the
// distributor cannot be reached: it will probe again when it is back.
func (w *Worker) noTask(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	dropped := from.Role == sched.Shell && w.phase == asking && m.Job == w.head.Job
	if !dropped && !w.answers(from, m) {
		return
	}
	w.recordState(now, m)
	w.enter(idle, now)
	w.serve(now, out)
}

// ended reports to the distributor and serves the next probe.
func (w *Worker) ended(now sched.Time, m *sched.Message, out *sched.Actions) {
	if w.phase != running || w.current != m.AttemptID() {
		return
	}
	r := out.Send(w.head.Distributor, sched.Report)
	r.Job, r.First, r.Attempt, r.Outcome, r.Reason = m.Job, m.First, m.Attempt, m.Outcome, m.Reason
	w.enter(idle, now)
	w.serve(now, out)
}

func (w *Worker) act(kind sched.ActionKind, out *sched.Actions) {
	m := out.Do(kind)
	m.Job, m.First, m.Attempt, m.Distributor = w.current.Job, w.current.Task, w.current.Attempt, w.head.Distributor
}

// Holds reports whether the slot runs the attempt. Probes that wait are of no attempt
// yet.
func (w *Worker) Holds(id sched.AttemptID) bool { return w.phase == running && w.current == id }
