package wire

import (
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

func statusTo(s api.Status) *published.TJobStatus {
	return &published.TJobStatus{
		JobId: s.Job, App: s.App, State: string(s.State), JobClass: s.Class, Tasks: n32(s.Tasks), Running: n32(s.Running),
		Completed: n32(s.Completed), Failed: n32(s.Failed), Attempts: n32(s.Attempts),
		Submitted: s.Submitted, Ended: s.Ended, Reason: s.Reason, Seconds: s.Seconds,
	}
}

func statusFrom(t *published.TJobStatus) api.Status {
	if t == nil {
		return api.Status{}
	}
	return api.Status{
		Job: t.JobId, App: t.App, State: api.State(t.State), Class: t.JobClass, Tasks: int(t.Tasks), Running: int(t.Running),
		Completed: int(t.Completed), Failed: int(t.Failed), Attempts: int(t.Attempts),
		Submitted: t.Submitted, Ended: t.Ended, Reason: t.Reason, Seconds: t.Seconds,
	}
}

func taskStatusTo(s api.TaskStatus) *published.TTaskStatus {
	return &published.TTaskStatus{
		Task: n32(s.Task), Attempt: n32(s.Attempt), State: s.State, Node: s.Node, Seconds: s.Seconds, Reason: s.Reason,
		ExitStatus: n32(s.Exit),
	}
}

func taskStatusFrom(t *published.TTaskStatus) api.TaskStatus {
	return api.TaskStatus{
		Task: int(t.Task), Attempt: int(t.Attempt), State: t.State, Node: t.Node, Seconds: t.Seconds, Reason: t.Reason,
		Exit: int(t.ExitStatus),
	}
}

func shareTo(s api.GroupShare) *published.TGroupShare {
	return &published.TGroupShare{
		Group: n32(s.Group), Reachable: s.Reachable, Queued: n32(s.Queued), Running: n32(s.Running),
		AheadShort: n32(s.AheadShort), AheadLong: n32(s.AheadLong), IdleGeneral: n32(s.IdleGeneral),
		IdleReserved: n32(s.IdleReserve), Serving: n32(s.Serving), OldestWait: s.OldestWait,
	}
}

func shareFrom(t *published.TGroupShare) api.GroupShare {
	if t == nil {
		return api.GroupShare{}
	}
	return api.GroupShare{
		Group: int(t.Group), Reachable: t.Reachable, Queued: int(t.Queued), Running: int(t.Running),
		AheadShort: int(t.AheadShort), AheadLong: int(t.AheadLong), IdleGeneral: int(t.IdleGeneral),
		IdleReserve: int(t.IdleReserved), Serving: int(t.Serving), OldestWait: t.OldestWait,
	}
}

func explanationTo(e *api.Explanation) *published.TExplanation {
	return &published.TExplanation{
		Status: statusTo(e.Status), Why: e.Why, Groups: mapped(e.Groups, shareTo), Tasks: mapped(e.Tasks, taskStatusTo),
	}
}

func explanationFrom(t *published.TExplanation) *api.Explanation {
	return &api.Explanation{
		Status: statusFrom(t.Status), Why: t.Why, Groups: mapped(t.Groups, shareFrom), Tasks: mapped(t.Tasks, taskStatusFrom),
	}
}

func nodeTo(n api.Node) *published.TNode {
	return &published.TNode{
		ID: n.ID, Group: n32(n.Group), Address: n.Address, Slots: n32(n.Slots), Reserved: n32(n.Reserved), Busy: n32(n.Busy),
		Apps: n.Apps, Up: n.Up,
	}
}

func nodeFrom(t *published.TNode) api.Node {
	return api.Node{
		ID: t.ID, Group: int(t.Group), Address: t.Address, Slots: int(t.Slots), Reserved: int(t.Reserved), Busy: int(t.Busy),
		Apps: t.Apps, Up: t.Up,
	}
}

func masterStateTo(s api.MasterState) *published.TMasterState {
	return &published.TMasterState{
		Group: n32(s.Group), Epoch: bits(s.Epoch), QueuedShort: n32(s.QueuedShort), QueuedLong: n32(s.QueuedLong),
		OldestShort: s.OldestShort, OldestLong: s.OldestLong, IdleGeneral: n32(s.IdleGeneral), IdleReserved: n32(s.IdleReserved),
		BusyGeneral: n32(s.BusyGeneral), BusyReserved: n32(s.BusyReserved), Workers: n32(s.Workers),
		Launches: bits(s.Launches), Lost: bits(s.Lost), Refused: bits(s.RefusedLaunch), Nodes: mapped(s.Nodes, nodeTo),
	}
}

func masterStateFrom(t *published.TMasterState) api.MasterState {
	return api.MasterState{
		Group: int(t.Group), Epoch: unbits(t.Epoch), QueuedShort: int(t.QueuedShort), QueuedLong: int(t.QueuedLong),
		OldestShort: t.OldestShort, OldestLong: t.OldestLong, IdleGeneral: int(t.IdleGeneral), IdleReserved: int(t.IdleReserved),
		BusyGeneral: int(t.BusyGeneral), BusyReserved: int(t.BusyReserved), Workers: int(t.Workers),
		Launches: unbits(t.Launches), Lost: unbits(t.Lost), RefusedLaunch: unbits(t.Refused), Nodes: mapped(t.Nodes, nodeFrom),
	}
}
