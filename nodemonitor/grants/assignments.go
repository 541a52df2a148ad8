package grants

import (
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// assignments records which grants there are and which executors have them. The lock of
// the table guards it.
type assignments struct {
	node   string
	fetch  time.Duration // a grant that was not fetched after this is lost
	apps   map[string]*application
	grants map[sched.AttemptID]*grant
	leases leases
	stats  Stats
}

func newAssignments(cfg *Config) *assignments {
	s := &assignments{node: cfg.Node, fetch: cfg.Fetch, apps: map[string]*application{}, grants: map[sched.AttemptID]*grant{}}
	s.leases = leases{longest: cfg.Lease, stats: &s.stats}
	return s
}

// start adds a grant of an application.
func (s *assignments) start(a *application, g *grant) {
	s.grants[g.task.ID] = g
	a.waiting = append(a.waiting, g)
	s.assign(a)
	if g.task.Contended {
		s.leases.recall(s.grants, g.class(), func(other *grant) bool { return other == g })
	}
}

// assign assigns the grants that wait to the executors with room, the emptiest first.
func (s *assignments) assign(a *application) {
	for len(a.waiting) > 0 {
		x := a.emptiest()
		if x == nil {
			return
		}
		g := a.waiting[0]
		a.waiting[0] = nil
		a.waiting = a.waiting[1:]
		x.seq++
		g.executor, g.seq = x, x.seq
		x.held[g.task.ID] = g
		x.queue = append(x.queue, g)
		x.wakeUp()
	}
	a.waiting = nil
}

// answer fills in the grants behind after. With nothing to answer it returns the channel
// that is closed at the executor's next change. A call that began during an earlier attachment
// than the last is answered with nothing.
func (s *assignments) answer(x *executor, after int64, attachment *uint64, out *api.Grants) <-chan struct{} {
	if *attachment == 0 {
		*attachment = x.attachments
	}
	if *attachment != x.attachments {
		*out = api.Grants{UpTo: max(after, 0)}
		return nil
	}
	for len(x.queue) > 0 && x.queue[0].seq <= after {
		x.queue[0] = nil
		x.queue = x.queue[1:]
	}
	*out = api.Grants{UpTo: max(after, 0)}
	for _, g := range x.queue {
		if !g.answered {
			g.answered = true
			s.stats.Granted++
		}
		out.UpTo = g.seq
		out.Grants = append(out.Grants, s.leases.offer(g))
	}
	if x.giveBack || len(out.Grants) > 0 {
		x.giveBack = false
		for _, g := range x.inOrder() {
			if g.mustReturn() && len(out.GiveBack) < maxGiveBack {
				out.GiveBack = append(out.GiveBack, g.task.ID.String())
			}
		}
	}
	if len(out.Grants) > 0 || len(out.GiveBack) > 0 {
		return nil
	}
	return x.wake
}

// kill ends a grant that has not reached its executor, and requests the others back.
func (s *assignments) kill(e *ends, g *grant) {
	switch {
	case !g.answered:
		s.end(e, g, sched.Killed, "")
	case !g.killed:
		g.killed = true
		g.executor.giveBack = true
		g.executor.wakeUp()
	}
}

// ended ends a grant as its executor reports.
func (s *assignments) ended(e *ends, g *grant, end api.GrantEnd) {
	switch end.How {
	case api.GrantUsed:
		s.stats.Used++
		s.end(e, g, sched.Done, "")
	case api.GrantDeclined:
		s.stats.Declined++
		s.end(e, g, sched.Done, "declined")
	default:
		s.stats.Unfit++
		s.end(e, g, sched.Failed, s.reason(g, fmt.Sprintf("executor %s could not use it: %.256s", g.executor.id, end.Reason), "nothing; the application asks for another"))
	}
}

// expire ends as lost the grants that have waited for too long. An executor that has
// left one unfetched receives no other before it polls again.
func (s *assignments) expire(e *ends, now time.Time) {
	for _, g := range s.grants { // they do not depend on each other
		if g.answered || now.Sub(g.began) < s.fetch {
			continue
		}
		what := "no executor had room"
		if x := g.executor; x != nil {
			x.unresponsive = true
			what = "executor " + x.id + " did not fetch it"
		}
		s.stats.Lost++
		s.end(e, g, sched.Lost, s.reason(g, fmt.Sprintf("%s within %v", what, s.fetch), "nothing; it is tried again"))
	}
}

// remove removes an executor that has ended, with the grants that may have reached it.
func (s *assignments) remove(e *ends, a *application, x *executor, why string) {
	delete(a.executors, x.id)
	x.wakeUp()
	for _, g := range x.inOrder() {
		if g.answered {
			s.stats.Failed++
			s.end(e, g, sched.Failed, s.reason(g, "its executor "+x.id+" ended: "+why, "nothing; the application asks for another"))
			continue
		}
		g.executor = nil
		a.waiting = append(a.waiting, g)
	}
	s.assign(a)
}

// forget removes an application with its executors and grants.
func (s *assignments) forget(e *ends, a *application) {
	for _, x := range a.executors {
		x.wakeUp()
		a.waiting = append(a.waiting, x.inOrder()...)
	}
	for _, g := range a.waiting {
		s.end(e, g, sched.Failed, s.reason(g, "its application is over", "nothing"))
	}
	delete(s.apps, a.id)
}

// close ends every grant and forgets the applications.
func (s *assignments) close(e *ends) {
	for _, g := range s.grants { // they do not depend on each other
		s.end(e, g, sched.Killed, backend.Stopping)
	}
	for _, a := range s.apps {
		for _, x := range a.executors {
			x.wakeUp()
		}
	}
	clear(s.apps)
}

// end removes a grant and queues the call of its done.
func (s *assignments) end(e *ends, g *grant, o sched.Outcome, why string) {
	delete(s.grants, g.task.ID)
	if x := g.executor; x != nil {
		delete(x.held, g.task.ID)
		x.queue = without(x.queue, g)
	} else if a := s.apps[g.task.App]; a != nil {
		a.waiting = without(a.waiting, g)
	}
	if g.killed {
		o = sched.Killed
	}
	r := backend.Result{ID: g.task.ID, Outcome: o, Reason: why}
	if g.answered {
		r.Started, r.Finished = g.began, time.Now()
	}
	e.add(func() { g.done(r) })
}

func (s *assignments) reason(g *grant, what, next string) string {
	return reason(s.node, &g.task, what, next)
}

// without returns a new list: the caller may be ranging over the old one.
func without(list []*grant, g *grant) []*grant {
	if i := slices.Index(list, g); i >= 0 {
		return slices.Concat(list[:i], list[i+1:])
	}
	return list
}
