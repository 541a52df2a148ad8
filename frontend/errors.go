package frontend

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// ofUser refuses a job for which a user's part has no room, or never has any.
func (a *admission) ofUser(sub *journal.Submission, never bool, what, limit string) error {
	if never {
		return a.never(sub, what, limit)
	}
	return a.busy(sub, what, limit)
}

// overQuota refuses a job that would pass a quota of its owner or of one above it.
func (a *admission) overQuota(sub *journal.Submission, e *quotas.Limit) error {
	refusal := a.never(sub, e.What, e.Key)
	if !e.Never {
		refusal.Problem, refusal.RetryAfter = api.Busy, time.Second
		refusal.Next = "submit it later, when the owner's jobs have ended, or to another frontend, or raise its quota in " + e.Key
	}
	return refusal
}

// busy refuses a job for which there may be room later.
func (a *admission) busy(sub *journal.Submission, what, limit string) error {
	e := a.never(sub, what, limit)
	e.Problem, e.RetryAfter = api.Busy, time.Second
	e.Next = "submit it later or to another frontend, or raise " + limit
	return e
}

// never refuses a job for which there will never be room.
func (a *admission) never(sub *journal.Submission, what, limit string) *api.Error {
	return &api.Error{Problem: api.Invalid, What: what, Subject: fmt.Sprintf("job %q at frontend %s", sub.Request.Key, a.cfg.ID),
		Tried: "accepting it; nothing was accepted", Next: "split it into several jobs, or raise " + limit}
}

// keyUsed refuses a request for other work under the key of a known job.
func (a *admission) keyUsed(sub *journal.Submission, difference string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("its key is that of a job that was accepted before, and this is another job: %s", difference),
		Subject: fmt.Sprintf("job %q at frontend %s", sub.Request.Key, a.cfg.ID), Tried: "accepting it; nothing was accepted, and the known job is as it was",
		Next: "submit it under a key of its own; to repeat the known job's submission, send the same request again"}
}

// keyTaken refuses a request under the key of a job that another user submitted.
func (a *admission) keyTaken(sub *journal.Submission, submitter string) error {
	return &api.Error{Problem: api.Denied, What: fmt.Sprintf("its key is that of a job of %s", submitter),
		Subject: fmt.Sprintf("job %q at frontend %s", sub.Request.Key, a.cfg.ID), Tried: "accepting it; nothing was accepted, and the known job is as it was",
		Next: "submit it under a key of its own, or without one"}
}

// notInTime is for a caller that no longer waits for the acceptance of a job.
func notInTime(key string) error {
	return &api.Error{Problem: api.NotReady, What: "the answer did not come in time", Subject: fmt.Sprintf("job %q", key),
		Tried: "accepting it", Next: "submit it again with the same key: it is accepted once"}
}

// stoppingMeanwhile is for a job whose acceptance may be on the disk.
func stoppingMeanwhile(key string) error {
	return &api.Error{Problem: api.NotReady, What: "the frontend is stopping", Subject: fmt.Sprintf("job %q", key),
		Next: "submit it again with the same key when the frontend is back: it is accepted once"}
}

// notYet is the refusal of input for a task that does not run now.
func notYet(job, why string) error {
	return &api.Error{Problem: api.NotReady, What: why, Subject: fmt.Sprintf("job %q", job), Tried: "giving it standard input", Next: "try again; `pigeon explain` shows what it waits for"}
}

// forAnother is for a job that names another frontend.
func forAnother(r *api.Request, here string) error {
	return &api.Error{Problem: api.NotFound, What: fmt.Sprintf("it is for frontend %q, and this is %q", r.Frontend, here), Subject: fmt.Sprintf("job %q", r.Key),
		Tried: "accepting it; nothing was accepted", Next: "submit it at that frontend"}
}

// cannotSuspend is for a job without suspension under a policy that suspends any task.
func cannotSuspend(policy, key string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("policy %s suspends any task, and its tasks may not be suspended (no_suspend)", policy), Subject: fmt.Sprintf("job %q", key),
		Tried: "accepting it; nothing was accepted", Next: "leave that out, or run the cluster under another policy"}
}

// noBackends is for tasks of an application's backend under a policy that runs none.
func noBackends(policyName string, r *api.Request) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("policy %s runs sleep and exec tasks only, its tasks are for a backend of application %q", policyName, r.App),
		Subject: fmt.Sprintf("job %q", r.Key), Tried: "accepting it; nothing was accepted", Next: fmt.Sprintf("run the cluster under one of the policies %s, or make them exec tasks", strings.Join(policy.Grouped(), ", "))}
}

// unknownOther is for a job that is to start after one that is not known.
func unknownOther(other, key, here string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it is to start after job %q, which frontend %s does not know (any more)", other, here), Subject: fmt.Sprintf("job %q", key),
		Tried: "accepting it; nothing was accepted", Next: "check that id with pigeon status; a job and those after which it starts are at one frontend, and a job that ended long ago is forgotten: leave it out"}
}

// mayNotName is for a user that may not run work for an owner.
func mayNotName(p identity.Principal, owner, own string) error {
	return &api.Error{
		Problem: api.Denied, What: fmt.Sprintf("%s may not run work for it", p), Subject: fmt.Sprintf("owner %q", owner), Tried: "accepting work for it; nothing was accepted",
		Next: fmt.Sprintf("leave the owner out, name one below %q, or have an operator list the user in owner_users: [{owner: ..., user: %s}]", own, p.Name),
	}
}

// noMoreLives is for a journal that was opened too often.
func noMoreLives(frontend string, life uint64) error {
	return &api.Error{Problem: api.Internal, Subject: fmt.Sprintf("journal of frontend %q", frontend),
		What:  fmt.Sprintf("it would be opened for the %d. time, and attempts can be numbered for %d openings", life, lastLife),
		Tried: "opening it; nothing was changed", Next: "let another frontend take the submissions, and start this one under a new name with an empty folder when nothing of it is unfinished"}
}

// otherJournal is for a folder with a journal of the other kind.
func otherJournal(data, was, now, other string) error {
	return &api.Error{Problem: api.Invalid, Subject: "folder " + data, What: fmt.Sprintf("the journal of this frontend there is %s, and journal: %s is configured", was, now),
		Tried: "opening it; nothing was changed", Next: fmt.Sprintf("use journal: %s; to change it, wait until no job is unfinished, stop the frontend and move %s away", was, filepath.Join(other, journal.MarkFile))}
}

// inventoryOfAnother is for an inventory that reached the wrong frontend.
func inventoryOfAnother(v *wire.Inventory, here, tried string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it is about frontend %q, and this is frontend %q", v.Frontend, here), Subject: fmt.Sprintf("inventory of node %q", v.Node),
		Tried: tried + "; nothing was changed", Next: "nothing, if the frontend moved to another address: the node learns of it"}
}

// reportsForAnother is for results that are meant for another frontend.
func reportsForAnother(b *wire.Batch, here string) error {
	return &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("this is frontend %q, and they are meant for %v", here, b.Receiver), Subject: fmt.Sprintf("%d results of %v", len(b.Items), b.Sender),
		Tried: "accepting them; none was", Next: "keep them until their frontend is back, under the address that it announces",
	}
}

// notBelieved is for a report that does not prove where its attempt was launched.
func notBelieved(what string, b *wire.Batch, it *wire.Item) error {
	return &api.Error{
		Problem: api.Denied, What: what, Subject: fmt.Sprintf("report of %v by %v at %s", it.Msg.AttemptID(), b.Sender, b.Address), Tried: "accepting it; it was dropped",
		Next: "see that this node, its master and this frontend run the same version; if they do, look for who else reaches the NATS servers or internal_listen",
	}
}

// noSuchPage is for a list that is continued after an unknown job.
func noSuchPage(after, here string) error {
	return &api.Error{Problem: api.NotFound, What: "the list cannot be continued after a job that is not known any more", Subject: fmt.Sprintf("job %q", after),
		Tried: "listing older jobs at frontend " + here, Next: "list again from the newest job"}
}

// noSuchJob is for a job that neither memory nor the journal has.
func noSuchJob(job string, retention time.Duration, here string) *api.Error {
	return &api.Error{Problem: api.NotFound, What: fmt.Sprintf("no such job, or it ended more than %v ago", retention), Subject: fmt.Sprintf("job %q", job),
		Tried: "looking it up at frontend " + here, Next: "check the id, and ask the frontend that accepted it"}
}

// noJobForInput is for standard input of an unknown job.
func noJobForInput(job string) *api.Error {
	return &api.Error{Problem: api.NotFound, What: "no such job", Subject: fmt.Sprintf("job %q", job), Tried: "giving it standard input", Next: "check the id with `pigeon status`"}
}

// takesNoInput is for standard input of a job without.
func takesNoInput(job string) error {
	return &api.Error{Problem: api.Invalid, What: "it takes no standard input", Subject: fmt.Sprintf("job %q", job), Tried: "giving it a piece", Next: "submit it with `pigeon run --stdin`"}
}

// noJobWithLogs is for logs of an unknown job.
func noJobWithLogs(job string) *api.Error {
	return &api.Error{Problem: api.NotFound, What: "no such job, or its logs have been removed", Subject: fmt.Sprintf("job %q", job), Tried: "finding its node", Next: "check the id with `pigeon status`"}
}

// noSuchTask is for a task that a job does not have.
func noSuchTask(r *wire.LogRequest, tasks int) error {
	return &api.Error{Problem: api.NotFound, What: fmt.Sprintf("it has tasks 0 to %d, not %d", tasks-1, r.Task), Subject: fmt.Sprintf("job %q", r.Job), Next: "name one of these"}
}

// nodeForgotten is for a task that has ended at a node that is not known any more.
func nodeForgotten(r *wire.LogRequest) error {
	return &api.Error{Problem: api.NotFound, What: "the node that ran it is not known any more: its job has too many tasks for that, or was accepted by an earlier version", Subject: fmt.Sprintf("task %d of job %q", r.Task, r.Job),
		Tried: "finding its node", Next: "look into the work folders of the nodes"}
}

// nowhereStopped is for a task of a cancelled job of which no node is known.
func nowhereStopped(r *wire.LogRequest) error {
	return &api.Error{Problem: api.NotFound, What: "it has no result, and the journal does not say where it was stopped: it had not started when its job was cancelled, its node has not reported its end, or the job has more such tasks than the journal keeps", Subject: fmt.Sprintf("task %d of job %q", r.Task, r.Job),
		Tried: "finding its node", Next: "look into the work folders of the nodes"}
}

// neverRan is for a task without a result of a job that has ended.
func neverRan(r *wire.LogRequest, s api.State) error {
	return &api.Error{Problem: api.NotFound, What: fmt.Sprintf("no node has reported that it ran, and its job has ended (%s)", s), Subject: fmt.Sprintf("task %d of job %q", r.Task, r.Job),
		Tried: "finding its node", Next: "`pigeon explain` shows why its job ended"}
}

// mayRun is for a task that may run in a group whose master does not answer.
func mayRun(r *wire.LogRequest, silent []int) error {
	return &api.Error{Problem: api.NotReady, What: fmt.Sprintf("it runs in no group whose master answers, and the masters of some groups do not: %s", strings.Trim(fmt.Sprint(silent), "[]")), Subject: fmt.Sprintf("task %d of job %q", r.Task, r.Job),
		Tried: "finding its node", Next: "try again when they answer; `pigeon nodes --groups` shows the masters"}
}

// notStarted is for a task that waits.
func notStarted(r *wire.LogRequest) error {
	return &api.Error{Problem: api.NotReady, What: "it has not started yet", Subject: fmt.Sprintf("task %d of job %q", r.Task, r.Job), Next: "try again; `pigeon explain` shows what it waits for"}
}

// nodeGone is for a log at a node that no master has.
func nodeGone(node string) error {
	return &api.Error{Problem: api.NotFound, What: "it is not registered with any master now", Subject: fmt.Sprintf("node %q", node), Tried: "reading a log that it keeps", Next: "start its node monitor again, or look into its work folder"}
}

// nodeStopped is for an order to a node that is lost or stopped.
func nodeStopped(n *api.Node, name, tried string) error {
	return &api.Error{Problem: api.NotFound, What: fmt.Sprintf("it is %s: %s", n.State, n.Reason), Subject: fmt.Sprintf("node %q", name), Tried: tried,
		Next: "nothing runs there; start its node monitor, and try again"}
}

// noSuchNode is for a name that no master has.
func noSuchNode(name, tried string) *api.Error {
	return &api.Error{Problem: api.NotFound, What: "no master has a node of this name", Subject: fmt.Sprintf("node %q", name), Tried: tried, Next: "`pigeon nodes` lists the nodes"}
}

// notForgotten is for a node or a frontend that is not forgotten.
func notForgotten(problem api.Problem, what, node, next string) error {
	return &api.Error{Problem: problem, What: what, Subject: fmt.Sprintf("node %q", node), Tried: "forgetting it; nothing was changed", Next: next}
}

// answersAs is for an address at which another frontend answers.
func answersAs(name, other string) error {
	return &api.Error{Problem: api.Invalid, Subject: fmt.Sprintf("frontend %q", name), What: fmt.Sprintf("frontend %q answers at its address", other), Tried: "asking it for its jobs, for the page", Next: "wait until the masters know where each of them serves"}
}

// badName is for an application whose name cannot be registered.
func badName(app, address, what, next string) error {
	return &api.Error{Problem: api.Invalid, What: "its name " + what, Subject: fmt.Sprintf("application %q at %s", api.Clip(app, api.MaxKeyBytes), address), Tried: "registering it", Next: next}
}

// registeredLate is for a caller that no longer waits for its registration.
func registeredLate(app string) error {
	return &api.Error{Problem: api.NotReady, What: "the answer did not come in time", Subject: fmt.Sprintf("application %q", app), Tried: "registering it", Next: "register it again"}
}

// notLeading is for a call to a process that does not act under the frontend's name.
func notLeading(frontend string) *api.Error {
	return &api.Error{Problem: api.NotReady, Subject: fmt.Sprintf("frontend %q", frontend), What: "this process does not lead, and no other is known to",
		Tried: "answering", Next: "try again in a moment, also at the other addresses of this frontend", RetryAfter: time.Second}
}

// succeeded is for a process that has lost the frontend's name.
func succeeded(frontend string, reason error, leader string) api.Error {
	return api.Error{Problem: api.NotReady, Subject: fmt.Sprintf("frontend %q", frontend), What: "this process does not lead any more: " + reason.Error(),
		Tried: "acting under its name; nothing is acknowledged since", Next: "start it again: it becomes a standby", Address: leader}
}

// notSaved is for a file of what was learned.
func notSaved(path string, err error, tried, next string) error {
	return &api.Error{Problem: api.Internal, What: err.Error(), Subject: "file " + path, Tried: tried, Next: next}
}
