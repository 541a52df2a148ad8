package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// taskRequest is a worker's request to a frontend for the task of a reservation.
type taskRequest struct {
	to      sched.Addr // the zero address: no request is pending
	msg     sched.Message
	since   sched.Time
	timeout sched.Time // after which it is repeated
}

func (q *taskRequest) answeredBy(from sched.Addr, m *sched.Message) bool {
	return q.to == from && q.msg.Job == m.Job && q.msg.Seq == m.Seq
}

// heartbeat sends a snapshot, and repeats the requests that have waited for too long.
func (sh *nodeShells) heartbeat(n *node) {
	sh.sendSnapshot(n)
	sh.publisher.read(&n.process)
	n.beats++
	if sh.inventoryDue(n) {
		for _, f := range sh.frontends {
			sh.sendInventory(n, f)
		}
	}
	for _, x := range n.workers {
		if q := &x.pending; q.to != (sched.Addr{}) && sh.now-q.since >= max(q.timeout, requestRetry) {
			q.since, q.timeout = sh.now, min(2*max(q.timeout, requestRetry), maxRequestRetry)
			sh.net.sendOnLink(sh.net.workerEnvelope(x, daemonID{q.to.Role, int(q.to.ID)}, &q.msg))
		}
	}
}

// announceFrontend informs every node, within readWithin, that a frontend has been
// started.
func (sh *nodeShells) announceFrontend(f *daemon) {
	if f.life == 1 {
		return
	}
	for _, n := range sh.nodes {
		if sh.manual {
			sh.sendInventory(n, f)
			continue
		}
		sh.after(&n.process, drawSpan(sh.draws.random, readWithin), func() {
			if sh.cfg.Policy.SingleMaster() {
				sh.denyRequests(n, f)
			}
			sh.sendInventory(n, f)
		})
	}
}

// denyRequests answers the requests of a node's workers to a frontend that is gone:
// there is no task.
func (sh *nodeShells) denyRequests(n *node, f *daemon) {
	for _, x := range n.workers {
		if q := x.pending; q.to.Role == sched.Distributor && int(q.to.ID) == f.id {
			x.pending = taskRequest{}
			sh.hosts.stepCore(x.host, sched.Addr{}, &sched.Message{Kind: sched.NoTask, Job: q.msg.Job, Seq: q.msg.Seq})
		}
	}
}

// suspectFrontend makes a node declare a live frontend gone and then discover it again.
// The node's latest messages to it are dropped, except reports; the frontend notices,
// and probes once more.
func (sh *nodeShells) suspectFrontend(n *node, f *daemon) {
	sh.net.dropQueued(route{n.daemonID, f.daemonID}, func(e *envelope) bool { return e.msg.Kind != sched.Report })
	sh.denyRequests(n, f)
	if f.membership.list != nil {
		sh.hosts.stepCore(f.host, sched.Addr{}, &sched.Message{Kind: sched.Members, More: &sched.More{Members: f.membership.list}, Resent: true})
	}
}
