package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// QueryTimeout bounds a query to the masters: one that does not answer in time is
// shown as not reachable.
const QueryTimeout = 500 * time.Millisecond

// queries are questions to the masters. They may be called from anywhere.
type queries struct {
	masters *masters // only what never changes
}

// JobViews returns what every master holds of a job, by group; none under a policy
// without masters.
func (q *queries) JobViews(ctx context.Context, job sched.JobID, app string) []wire.JobView {
	if q.masters.opts.Policy.NewMaster == nil {
		return nil
	}
	return query(ctx, q.masters, func(ctx context.Context, m *master) wire.JobView {
		v, err := m.peer.Current().JobView(ctx, job, app)
		if err != nil {
			v = wire.JobView{}
		}
		v.Share.Group, v.Share.Reachable = m.group, err == nil
		return v
	})
}

// RunningAttempts returns the attempts of a task that run or are suspended in the groups whose
// masters answer, and the groups whose masters do not. app is the job's application, for masters of
// an earlier version, which list some tasks of the job only.
func (q *queries) RunningAttempts(ctx context.Context, job sched.JobID, app string, task int) (list []api.TaskStatus, silent []int) {
	if q.masters.opts.Policy.NewMaster == nil {
		return nil, nil
	}
	type answer struct {
		list []api.TaskStatus
		err  error
	}
	answers := query(ctx, q.masters, func(ctx context.Context, m *master) (a answer) {
		a.list, a.err = m.peer.Current().RunningAttempts(ctx, job, int32(task)) //nolint:gosec // below the number of tasks
		if e, told := errors.AsType[*api.Error](a.err); told && e.Problem != api.NotReady {
			var v wire.JobView
			v, a.err = m.peer.Current().JobView(ctx, job, app)
			a.list = slices.DeleteFunc(v.Tasks, func(t api.TaskStatus) bool { return t.Task != task })
		}
		return a
	})
	for g := range answers {
		if list = append(list, answers[g].list...); answers[g].err != nil {
			silent = append(silent, q.masters.list[g].group)
		}
	}
	return list, silent
}

// RunningTasks returns how many tasks of each of the jobs run in every group, by group; nil
// for a group whose master does not answer, and none at all under a policy without masters.
func (q *queries) RunningTasks(ctx context.Context, jobs []sched.JobID) [][]int32 {
	if q.masters.opts.Policy.NewMaster == nil || len(jobs) == 0 {
		return nil
	}
	return query(ctx, q.masters, func(ctx context.Context, m *master) []int32 {
		n, err := m.peer.Current().RunningTasks(ctx, jobs)
		if err != nil {
			return nil
		}
		return n
	})
}

// RunningJobs returns the jobs of this frontend with running tasks in groups whose masters
// answer, by one question to each; nil when they cannot be known: more run in a group than an
// answer may list, or a master is of an earlier version, which does not know the question.
func (q *queries) RunningJobs(ctx context.Context) map[sched.JobID]struct{} {
	all := map[sched.JobID]struct{}{}
	if q.masters.opts.Policy.NewMaster == nil {
		return all
	}
	self := q.masters.opts.Self.Name
	answers := query(ctx, q.masters, func(ctx context.Context, m *master) wire.RunningJobs {
		r, err := m.peer.Current().RunningJobs(ctx, self)
		if e, told := errors.AsType[*api.Error](err); told && e.Problem != api.NotReady {
			r.More = true
		}
		return r
	})
	for _, r := range answers {
		if r.More {
			return nil
		}
		for _, job := range r.Jobs {
			all[job] = struct{}{}
		}
	}
	return all
}

// MasterStates returns every group with its nodes; for one whose master does not answer,
// since when and why.
func (q *queries) MasterStates(ctx context.Context) []api.MasterState {
	return query(ctx, q.masters, func(ctx context.Context, m *master) api.MasterState {
		s := masterState(ctx, m)
		s.Group = m.group
		return s
	})
}

// StateOf returns one group with its nodes, without nodes when its master does not answer.
func (q *queries) StateOf(ctx context.Context, group int) api.MasterState {
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	return masterState(ctx, q.masters.list[group])
}

// Departed returns the nodes of a group that have departed, as this frontend last heard of them.
func (q *queries) Departed(group int) []api.Node { return q.masters.list[group].departed.nodes(group) }

// NodeLost records that a node of a group was registered with an earlier master and has not
// registered with the present one, which does not know it. The master shows it then.
func (q *queries) NodeLost(group int, n *wire.MemberNode) {
	q.masters.list[group].departed.lost(n, "it was registered with an earlier master of its group, and has not registered with the present one")
}

// errNoLeader is why nothing is known of a group while none of its masters leads.
var errNoLeader = errors.New("none of its masters leads")

// masterState returns the state of a group: that of its master, or of the one that leads with
// the roles of all.
func masterState(ctx context.Context, m *master) (state api.MasterState) {
	if !m.peer.Several() {
		s, err := m.peer.Current().MasterState(ctx)
		if err != nil {
			return api.MasterState{Master: m.reach.state(m.group, m.address, err), Departed: m.departed.nodes(m.group)}
		}
		if s.Master != nil {
			s.Master.Address = m.address
		}
		return s
	}
	state.Master, state.Departed = m.reach.state(m.group, m.address, errNoLeader), m.departed.nodes(m.group)
	list := m.peer.List()
	all := make([]api.GroupMaster, len(list))
	var mu sync.Mutex
	var asks sync.WaitGroup
	for i, each := range list {
		all[i].Address = each.Address
		asks.Go(func() {
			s, err := each.Peer.MasterState(ctx)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if all[i].Role = s.Role; s.Role == api.Leader {
				if state = s; s.Master != nil {
					s.Master.Address = each.Address
				}
			}
		})
	}
	asks.Wait()
	state.Masters = all
	return state
}

// Forgotten is the answer of one master to the request to forget a node.
type Forgotten struct {
	Reached    bool  // the master answered
	Forgotten  bool  // it showed the node
	Registered error // why it still shows it
}

// ForgetNode makes all masters stop showing a node that is lost or stopped. It returns their
// answers by group.
func (q *queries) ForgetNode(ctx context.Context, name string) []Forgotten {
	return query(ctx, q.masters, func(ctx context.Context, m *master) Forgotten {
		forgotten, err := m.peer.Current().ForgetNode(ctx, name)
		e, told := errors.AsType[*api.Error](err)
		if told && e.Problem == api.Invalid {
			return Forgotten{Reached: true, Registered: e}
		}
		return Forgotten{Reached: err == nil, Forgotten: forgotten}
	})
}

// GroupOwners returns how the slots of every group are shared between owners, by group.
func (q *queries) GroupOwners(ctx context.Context) []api.GroupOwners {
	return query(ctx, q.masters, func(ctx context.Context, m *master) api.GroupOwners {
		s, err := m.peer.Current().GroupOwners(ctx)
		if err != nil {
			s = api.GroupOwners{}
		}
		s.Group, s.Reachable = m.group, err == nil
		return s
	})
}

// query calls all masters at once.
func query[T any](ctx context.Context, s *masters, ask func(context.Context, *master) T) []T {
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	answers := make([]T, len(s.list))
	var all sync.WaitGroup
	for g, m := range s.list {
		all.Go(func() { answers[g] = ask(ctx, m) })
	}
	all.Wait()
	return answers
}

// Memberships returns where the membership of every group is read, by group.
func (q *queries) Memberships() []wire.MembershipSource {
	sources := make([]wire.MembershipSource, len(q.masters.list))
	for g, m := range q.masters.list {
		sources[g] = m.peer
	}
	return sources
}
