package kairos

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// node is the master's record of a worker.
//
// Invariant: spread is that of tasks.
type node struct {
	addr     sched.Addr
	name     string
	tasks    []*placed // in order of launch
	spread   spread
	place    int    // in the ranking
	launched uint64 // number of the last launch, at least as high as the node knows
	ended    ended.List
	leaving  bool // it takes nothing new
}

// node returns the live node that sent the message, nil when it is none.
func (s *Master) node(from sched.Addr) *node {
	if from.Role != sched.Worker || from.ID < 0 || int(from.ID) >= len(s.nodes) {
		return nil
	}
	return s.nodes[from.ID]
}

// attach records that a task is at a node.
func (s *Master) attach(n *node, p *placed) {
	n.tasks = append(n.tasks, p)
	j := p.job
	if old := j.placed[p.task]; old == nil || old.attempt < p.attempt {
		if j.placed == nil {
			j.placed = make(map[int32]*placed)
		}
		j.placed[p.task] = p
	}
	j.Running++
	s.rerank(n)
}

// detach records that a task has left its node.
func (s *Master) detach(n *node, p *placed, out *sched.Actions) {
	at := slices.Index(n.tasks, p)
	n.tasks = slices.Delete(n.tasks, at, at+1)
	j := p.job
	if j.placed[p.task] == p {
		delete(j.placed, p.task)
	}
	j.Running--
	s.rerank(n)
	s.forget(j, j.ID, out)
}

// rerank moves a node to the place in the ranking that follows from its tasks.
func (s *Master) rerank(n *node) {
	n.spread = spreadOf(n.tasks)
	if n.place != unranked {
		s.ranking.fix(n.place)
	}
}

// drains records that a node takes nothing new, or takes tasks again. Tasks there keep
// running.
func (s *Master) drains(n *node, leaving bool) {
	if n == nil || n.leaving == leaving {
		return
	}
	n.leaving = leaving
	if leaving {
		s.ranking.remove(n)
		return
	}
	s.admit(n)
}

// admit ranks a node again after it has refused a task.
func (s *Master) admit(n *node) {
	if n.place == unranked && !n.leaving {
		s.ranking.push(n)
	}
}

func (n *node) find(id sched.AttemptID) *placed {
	for _, p := range n.tasks {
		if p.task == id.Task && p.attempt == id.Attempt && p.job.ID == id.Job {
			return p
		}
	}
	return nil
}

// idle processes the notice that a task has left a node. A notice about an earlier
// launch of the same attempt is a repetition.
func (s *Master) idle(now sched.Time, n *node, m *sched.Message, out *sched.Actions) {
	if n == nil {
		return
	}
	if p := n.find(m.AttemptID()); p != nil && p.number <= m.Seq {
		n.ended.Add(now, p.id(), p.job.Distributor(), p.number)
		s.detach(n, p, out)
	}
	s.admit(n)
}

// beat processes a node's account of its tasks. A task that the account omits, although
// its launch had arrived, has ended, and the notice of that was lost.
func (s *Master) beat(now sched.Time, n *node, m *sched.Message, out *sched.Actions) {
	if n == nil || m.More == nil {
		return
	}
	slots := m.More.Slots
	for i := 0; i < len(n.tasks); {
		p := n.tasks[i]
		at := slices.IndexFunc(slots, func(a sched.Attained) bool {
			return a.ID.Task == p.task && a.ID.Attempt == p.attempt && a.ID.Job == p.job.ID
		})
		switch {
		case at >= 0:
			p.service = slots[at].Service
			if slots[at].Running || p.service > 0 {
				p.since = now - p.service
			}
		case p.number <= m.Seq:
			n.ended.Add(now, p.id(), p.job.Distributor(), p.number)
			s.detach(n, p, out)
			continue
		}
		i++
	}
	s.rerank(n)
	if len(slots) < s.o.room() {
		s.admit(n)
	}
}

// refused puts a task back at the head of the queue. The node receives no other
// until it has reported that it has room: it may hold tasks unknown to the master. If a
// heartbeat arrived first that counts a launch of an earlier master, the task was recorded
// as ended and is no longer known here: it is returned to its distributor.
func (s *Master) refused(now sched.Time, n *node, m *sched.Message, out *sched.Actions) {
	if n == nil {
		return
	}
	n.launched = max(n.launched, m.Seq)
	p := n.find(m.AttemptID())
	if p == nil {
		if distributor, ok := n.ended.Refused(m.AttemptID(), m.Seq); ok {
			s.refusals++
			s.lately = ended.Index{}
			out.SendReturned(distributor, m.Job, m.First, 1, m.Attempt, false).Resent = true
		}
		return
	}
	if p.number > m.Seq {
		return // it came twice
	}
	s.refusals++
	s.ranking.remove(n)
	s.index.PushHead(now, &p.job.Job, p.task, 1, p.attempt)
	s.detach(n, p, out)
}

// workerUp adds a node. A node that holds several tasks is announced once for
// each.
func (s *Master) workerUp(now sched.Time, m *sched.Message, out *sched.Actions) {
	if m.Peer.Role != sched.Worker || !slices.Contains(m.Serves, "") {
		return
	}
	n := s.node(m.Peer)
	if n == nil {
		n = s.join(m, out)
	}
	for _, id := range m.Kept {
		n.ended.Add(now, id, sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, 0)
		s.removeQueued(id, out)
	}
	if m.Attempt > 0 && n.find(m.AttemptID()) == nil {
		s.adopt(n, m, out)
	}
}

func (s *Master) join(m *sched.Message, out *sched.Actions) *node {
	n := &node{addr: m.Peer, name: m.Node, place: unranked}
	if grow := int(m.Peer.ID) + 1 - len(s.nodes); grow > 0 {
		s.nodes = append(s.nodes, make([]*node, grow)...)
		s.launched = append(s.launched, make([]uint64, grow)...)
	}
	n.launched = max(m.Seq, s.launched[m.Peer.ID])
	s.nodes[m.Peer.ID] = n
	s.alive++
	s.ranking.push(n)
	var fresh bool
	if s.service, fresh = s.index.Join([]string{""}); fresh {
		s.announce(out)
	}
	return n
}

// epochNumbers is how many numbers of launches each epoch has for itself.
const epochNumbers = 1 << 32

// nextNumber returns the number of the next launch at a node. It is above that of every
// launch that may be in transit to it, from before the node was lost or from an earlier
// master: the node would take the launch for a repetition, or its account of its tasks
// would show the launch as received and ended.
func (s *Master) nextNumber(n *node) uint64 {
	earlier := min(max(s.epoch, 1)-1, 1<<30) * epochNumbers
	return max(n.launched, earlier) + 1
}

// adopt records a task that a registering node holds, and asks its distributor whether
// it is still wanted.
func (s *Master) adopt(n *node, m *sched.Message, out *sched.Actions) {
	j := s.jobs[m.Job]
	if j == nil {
		j = s.enter(m)
	}
	s.attach(n, &placed{job: j, task: m.First, attempt: m.Attempt, number: m.Seq, since: sched.Unknown})
	s.removeQueued(m.AttemptID(), out)
	out.SendHolding(m.Distributor, m.AttemptID())
}

// removeQueued removes a task from the queue because a node holds, or has ended, this
// attempt of it.
func (s *Master) removeQueued(id sched.AttemptID, out *sched.Actions) {
	j := s.jobs[id.Job]
	if j == nil {
		return
	}
	if j.Waiting(id.Task) <= id.Attempt {
		s.index.Remove(&j.Job, id.Task, 1)
	}
	s.forget(j, id.Job, out)
}

// workerLost removes a node. The tasks it held are lost, and so may be the reports of
// those that ended there last.
func (s *Master) workerLost(m *sched.Message, out *sched.Actions) {
	n := s.node(m.Peer)
	if n == nil {
		return
	}
	s.ranking.remove(n)
	s.lately = ended.Index{}
	s.nodes[m.Peer.ID] = nil
	s.alive--
	for len(n.tasks) > 0 {
		p := n.tasks[0]
		if out.SendLost(p.job.Distributor(), p.id(), n.name, m) {
			s.lost++
		}
		s.detach(n, p, out)
	}
	n.ended.Each(func(id sched.AttemptID, distributor sched.Addr) { out.SendLost(distributor, id, n.name, m) })
	service := s.service
	if s.alive == 0 {
		s.service = nil
		s.announce(out)
	}
	s.index.Leave(service, func(a *queue.App) { s.returnAll(a, out) })
}

// returnAll returns the waiting tasks to their distributors when no node is left.
func (s *Master) returnAll(a *queue.App, out *sched.Actions) {
	s.index.TakeAll(a, func(r *queue.Run) {
		out.SendReturned(r.Job.Distributor(), r.Job.ID, r.First, r.Count, r.Attempt, false)
		s.forget(s.jobs[r.Job.ID], r.Job.ID, out)
	})
}

func (s *Master) announce(out *sched.Actions) {
	names := []string{}
	if s.alive > 0 {
		names = []string{""}
	}
	out.Send(sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, sched.Serves).Serves = names
}
