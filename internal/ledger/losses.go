package ledger

import (
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// MaxLosses is how many distinct nodes must be lost while they run a task, within the
	// window, for the task to fail.
	MaxLosses = 3
	// DefaultLossWindow is how long a loss counts.
	DefaultLossWindow = 600 * sched.Second
)

// loss is a node that was lost while it ran an attempt of a task, of which a task has at most one
// for each node, the last; or a guard that ended under one, at any node.
type loss struct {
	node    string
	worker  sched.Addr // of the node, the zero address where only a master knows it
	attempt int32
	at      sched.Time
	guard   bool
}

// lose records that an attempt ended without a result. Where its node is known that is
// a loss of the node; a message that names no node is not counted.
//
// Attempts that are lost with their guard are one loss, of whichever task ended it: it counts against
// a task that was alone with it. All of them get guards of their own from then on, so that whoever
// does that again is alone and takes nobody with it.
func (l *Ledger) lose(now sched.Time, j *Job, m *sched.Message, out *sched.Actions) Verdict {
	t, guard := &j.Tasks[m.First], m.Losses > 0
	if t.Losses < 255 {
		t.Losses++
	}
	for _, old := range j.forget(m.First, func(x *loss) bool { return now-x.at > l.lossWindow }) {
		notLost(j, m.First, old.node, out)
	}
	x := loss{node: m.Node, worker: m.Peer, attempt: m.Attempt, at: now, guard: guard}
	if guard {
		t.Marks |= sched.Apart
	}
	if m.Losses > 1 {
		x.node = "" // any of them may have ended it
	}
	lost := j.addLoss(m.First, x)
	if len(lost) < MaxLosses {
		if v := l.newAttempt(j, m, sched.Lost, out); v != Again {
			return v
		}
		pause := afterLoss(t.Losses)
		if m.Losses > 1 {
			pause = spread(pause, m.AttemptID())
		}
		if m.Kind == sched.AttemptLost { // otherwise the node itself reports that it has ended
			pause = max(pause, j.separation())
		}
		return l.again(now, j, m.First, pause, out)
	}
	l.end(j, m.First, m.Attempt, sched.Failed, poisonReason(m, lost, l.lossWindow), out)
	return Accepted
}

// addLoss adds a loss to those of a task, unless its node is unknown, and returns them.
func (j *Job) addLoss(task int32, x loss) []loss {
	if x.node == "" {
		return j.losses[task]
	}
	if !x.guard {
		j.forget(task, func(o *loss) bool { return o.node == x.node && !o.guard })
	}
	if j.losses == nil {
		j.losses = make(map[int32][]loss)
	}
	list := append(j.losses[task], x)
	j.losses[task] = list
	return list
}

// forget removes losses of a task and returns them.
func (j *Job) forget(task int32, which func(*loss) bool) (forgotten []loss) {
	if len(j.losses[task]) == 0 {
		return nil
	}
	var rest []loss
	for _, x := range j.losses[task] {
		if which(&x) {
			forgotten = append(forgotten, x)
		} else {
			rest = append(rest, x)
		}
	}
	if j.losses[task] = rest; len(rest) == 0 {
		delete(j.losses, task)
	}
	return forgotten
}

// poisonReason returns why a task failed during which three nodes were lost, or three guards.
func poisonReason(m *sched.Message, lost []loss, window sched.Time) string {
	var names []string
	guards := 0
	for _, x := range lost {
		if x.guard {
			x.node = "the guard of node " + x.node
			guards++
		}
		names = append(names, x.node)
	}
	last := len(names) - 1
	if guards == len(lost) {
		return fmt.Sprintf("task %d ran alone under each of %d guards (the process that starts tasks) that ended within %g s, %s and %s, the last time because %s; it is what ended them: have it signal no process but its own, then submit it again (loss_window says for how long a loss counts)",
			m.First, len(names), window.Seconds(), strings.Join(names[:last], ", "), names[last], m.Reason)
	}
	return fmt.Sprintf("task %d was lost with %d nodes within %g s, %s and %s, the last time because %s; it may be what ended them: look at their logs and at the memory the task needs, then submit it again (loss_window says for how long a loss counts)",
		m.First, len(names), window.Seconds(), strings.Join(names[:last], ", "), names[last], m.Reason)
}

// Alive records that the node of an attempt reported it after it had been counted lost:
// the loss is taken back.
func (l *Ledger) Alive(id sched.AttemptID, out *sched.Actions) {
	if j := l.jobs[id.Job]; j != nil && j.Has(id.Task) {
		for _, x := range j.takeBack(id.Task, func(x *loss) bool { return x.attempt == id.Attempt && !x.guard }) {
			notLost(j, id.Task, x.node, out)
		}
	}
}

// sameProcess is how long after a loss a worker of the same number is surely the same
// process: numbers rest longer before they are used again.
const sameProcess = 30 * sched.Second

// WorkersBack records that workers that were lost are here again: the losses at them are
// taken back, if that was a short while ago. A node that comes back later lists its attempts
// (see Alive).
func (l *Ledger) WorkersBack(back func(sched.Addr) bool, out *sched.Actions) {
	l.Each(func(j *Job) {
		if len(j.losses) == 0 {
			return
		}
		for i := range int32(len(j.Tasks)) { //nolint:gosec // at most sched.MaxTasks; a map has no order
			for _, x := range j.takeBack(i, func(x *loss) bool { return x.worker != (sched.Addr{}) && l.now-x.at < sameProcess && back(x.worker) }) {
				notLost(j, i, x.node, out)
			}
		}
	})
}

// takeBack removes the losses of an unfinished task that were none after all, and returns
// them.
func (j *Job) takeBack(task int32, which func(*loss) bool) []loss {
	t := &j.Tasks[task]
	if len(j.losses[task]) == 0 || t.Outcome != sched.Unfinished {
		return nil
	}
	back := j.forget(task, which)
	t.Losses -= uint8(min(int(t.Losses), len(back))) //nolint:gosec // below MaxLosses
	return back
}

// notLost records that a loss no longer counts.
func notLost(j *Job, task int32, node string, out *sched.Actions) {
	r := out.Do(sched.Persist)
	r.Kind, r.Job, r.First, r.Node = sched.NotLost, j.ID, task, node
}

// restoreLoss enters the loss of a record, as of now: the clock of the process that had it
// has ended.
func restoreLoss(now sched.Time, j *Job, m *sched.Message) {
	if m.Outcome == sched.Lost && m.Node != "" {
		j.addLoss(m.First, loss{node: m.Node, attempt: j.Tasks[m.First].Attempt, at: now, guard: m.Marks.Has(sched.Apart)})
	}
}
