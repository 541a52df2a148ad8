package wire

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Declined returns the answer to a message that its receiver's version does not know, as the
// receiver would have given it: tasks are returned, and a launch is refused, so that the
// sender's core continues without them. It returns false for a message to which no core
// expects an answer.
func Declined(it *Item) (answer Item, ok bool) {
	m := &it.Msg
	reason := fmt.Sprintf("%s runs a version that does not know messages of kind %s", it.To.Daemon(), m.Kind)
	a := sched.Message{Job: m.Job, First: m.First, Attempt: m.Attempt, Reason: reason}
	switch m.Kind {
	case sched.Tasks:
		a.Kind, a.Count = sched.Returned, m.Count
	case sched.Launch, sched.Preempt:
		a.Kind, a.Seq = sched.Refused, m.Seq
	default:
		return Item{}, false
	}
	return Item{From: it.To, To: it.From, Msg: a}, true
}
