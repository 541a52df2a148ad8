package wire

import (
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// eventTo and eventFrom are written by hand for the numbers that an event may not have.
func eventTo(e api.Event) *published.TEvent {
	return &published.TEvent{
		Index: int64(e.Index), Epoch: int64(e.Epoch), //nolint:gosec // the same bits
		Time: e.Time, Type: e.Type, Severity: e.Severity, Frontend: e.Frontend, Message: e.Message, Reason: e.Reason, Job: e.Job,
		Task: numberTo(e.Task), Attempt: n32(e.Attempt), Node: e.Node, Group: numberTo(e.Group), Owner: e.Owner, Submitter: e.Submitter, Count: e.Count,
	}
}

func eventFrom(t *published.TEvent) (e api.Event) {
	if t == nil {
		return e
	}
	return api.Event{
		Index: uint64(t.Index), Epoch: uint64(t.Epoch), //nolint:gosec // the same bits
		Time: t.Time, Type: t.Type, Severity: t.Severity, Frontend: t.Frontend, Message: t.Message, Reason: t.Reason, Job: t.Job,
		Task: numberFrom(t.Task), Attempt: int(t.Attempt), Node: t.Node, Group: numberFrom(t.Group), Owner: t.Owner, Submitter: t.Submitter, Count: t.Count,
	}
}

// noNumber stands for a number that an event does not have.
const noNumber = -1

func numberTo(n *int) int32 {
	if n == nil {
		return noNumber
	}
	return n32(*n)
}

func numberFrom(n int32) *int {
	if n == noNumber {
		return nil
	}
	return new(int(n))
}
