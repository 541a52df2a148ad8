package hawk

import (
	"math/rand/v2"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Worker is one slot that steals when it turns idle.
type Worker struct {
	*probing.Worker
	cfg       sched.WorkerConfig
	tries     int
	rand      *rand.Rand
	general   []sched.Member
	triesLeft int        // workers it may still ask in this turn to idle
	victim    sched.Addr // whose answer it waits for, zero for none
	lent      []lent     // recently
}

// lent are reservations that a thief took.
type lent struct {
	to     sched.Addr
	at     sched.Time
	probes []sched.Probed
}

// keptLent is how long they are remembered: until they have arrived, or the thief is
// taken for lost.
const keptLent = 60 * sched.Second

// NewWorker returns an idle slot without a list of the other workers.
func NewWorker(cfg sched.WorkerConfig, o Options) *Worker {
	return &Worker{
		Worker: probing.NewWorker(cfg, probing.Rules{}), cfg: cfg, tries: o.Tries,
		rand: sched.Rand(cfg.Seed, sched.RoleKey(cfg.Self)),
	}
}

// Step implements [sched.Core].
func (w *Worker) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	was := w.Free()
	switch m.Kind {
	case sched.Members:
		w.membersChanged(m, out)
	case sched.Steal:
		w.answerSteal(now, from, out)
	case sched.Stolen:
		w.stolen(from, m, out)
	default:
		w.Worker.Step(now, from, m, out)
	}
	if !was && w.Free() { // it turned idle
		w.triesLeft = w.tries
		w.steal(out)
	}
}

// membersChanged records the list of live workers, the reserved ones first. The victim
// of a pending request may be lost. So may a thief: messages in transit to it are
// dropped then, even if it returns at once, so its reservations are served here again.
// One too many costs a NoTask.
func (w *Worker) membersChanged(m *sched.Message, out *sched.Actions) {
	w.victim = sched.Addr{}
	if m.More == nil {
		return
	}
	list := m.More.Members
	w.general = list[probing.Reserved(w.cfg.Params.Reserved, len(list)):]
	here := w.lent[:0]
	for _, l := range w.lent {
		if slices.ContainsFunc(list, func(o sched.Member) bool { return o.Worker == l.to }) {
			here = append(here, l)
			continue
		}
		for _, p := range l.probes {
			w.Reserve(p, out)
		}
	}
	clear(w.lent[len(here):])
	w.lent = here
}

// steal asks the next random general worker.
func (w *Worker) steal(out *sched.Actions) {
	if w.triesLeft == 0 || w.victim != (sched.Addr{}) || len(w.general) == 0 {
		return
	}
	w.triesLeft--
	victim := w.general[w.rand.IntN(len(w.general))].Worker
	if victim == w.cfg.Self {
		if len(w.general) == 1 {
			return
		}
		victim = w.other()
	}
	w.victim = victim
	out.Send(victim, sched.Steal).Class = sched.Short
}

// other draws until it is another worker, which there is.
func (w *Worker) other() sched.Addr {
	for {
		if v := w.general[w.rand.IntN(len(w.general))].Worker; v != w.cfg.Self {
			return v
		}
	}
}

// answerSteal hands over the first run of short reservations behind long work.
func (w *Worker) answerSteal(now sched.Time, thief sched.Addr, out *sched.Actions) {
	if thief.Role != sched.Worker {
		return
	}
	w.lent = slices.DeleteFunc(w.lent, func(l lent) bool { return now-l.at > keptLent })
	answer := out.Send(thief, sched.Stolen)
	if first, end := w.behindLong(); first < end {
		probes := w.Withdraw(first, end)
		answer.More = &sched.More{Probes: probes}
		w.lent = append(w.lent, lent{thief, now, probes})
	}
}

// behindLong returns the range of that run in the queue.
func (w *Worker) behindLong() (first, end int) {
	q, _ := w.Queue()
	if w.Long() == 0 {
		return 0, 0 // no long work, nothing behind it
	}
	afterLong := w.RunsLong()
	for i, e := range q.All() {
		isLong := e.Class == sched.Long
		switch {
		case end > first && isLong:
			return first, end
		case isLong:
			afterLong = true
		case afterLong && end == 0:
			first, end = i, i+1
		case afterLong:
			end = i + 1
		}
	}
	return first, end
}

// stolen processes the answer: reservations are served like any other, and after an
// empty answer the next worker is asked.
func (w *Worker) stolen(from sched.Addr, m *sched.Message, out *sched.Actions) {
	if m.More != nil {
		for i := range m.More.Probes {
			w.Reserve(m.More.Probes[i], out)
		}
	}
	if from != w.victim {
		return
	}
	w.victim = sched.Addr{}
	if w.Free() {
		w.steal(out)
	}
}
