package application

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// useByOwner is what an application has used of the cluster since it registered here, by owner: its levels
// may have owners of their own.
type useByOwner map[string]*ownerUsage

type ownerUsage struct {
	slot         [sched.NumClasses]time.Duration // for which it had slots
	done, failed int                             // grants
}

// add counts the end of a grant, or of a slot that an executor held.
func (u useByOwner) add(owner string, class sched.Class, slot time.Duration, done bool) {
	o := u[owner]
	if o == nil {
		o = &ownerUsage{}
		u[owner] = o
	}
	o.slot[class] += slot
	if done {
		o.done++
	} else {
		o.failed++
	}
}

// closingFor is how long an application that was removed waits for the reports of its last grants, which its
// nodes repeat every second, before it goes into the history.
const closingFor = 3 * time.Second

// closeOver puts the applications into the history that were over for so long.
func (reg *registry) closeOver(now time.Time, since time.Duration) {
	for _, a := range reg.closing {
		if a.over.IsZero() {
			a.over = now
		}
	}
	for len(reg.closing) > 0 && now.Sub(reg.closing[0].over) >= since {
		reg.effects.ended = append(reg.effects.ended, reg.closing[0].lines()...)
		reg.closing = reg.closing[1:]
	}
}

// lines returns the application as lines of the history of jobs, one for each of its owners: that of the
// application has its id, and any other the id and its own path.
func (a *application) lines() (list []*api.JobUsage) {
	state, reason := api.StateCompleted, ""
	if !a.endedItself {
		state, reason = api.StateCancelled, a.ended
	}
	if a.executors.final != "" {
		state, reason = api.StateFailed, a.executors.final
	}
	a.used.add(a.Owner, sched.Short, 0, true) // it has a line although it used nothing
	a.used[a.Owner].done--
	for _, owner := range slices.Sorted(maps.Keys(a.used)) {
		o := a.used[owner]
		u := &api.JobUsage{
			Job: a.ID, Name: a.Name, Owner: owner, Submitter: a.Submitter, App: a.ID, Class: sched.Short.String(), State: state, Reason: reason,
			Submitted: unixSeconds(a.began), Ended: unixSeconds(a.over), Tasks: o.done + o.failed, Completed: o.done, Failed: o.failed,
			SlotSeconds: (o.slot[sched.Short] + o.slot[sched.Long]).Seconds(),
		}
		if o.slot[sched.Long] > o.slot[sched.Short] {
			u.Class = sched.Long.String()
		}
		if owner == a.Owner {
			u.Attempts = a.executors.next - 1
		} else {
			u.Job += "/" + cmp.Or(owner, "-")
		}
		list = append(list, u)
	}
	return list
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// Used counts the end of a task of a job that was submitted: for which owner, of which class, for how long it
// had a slot, and whether it was used to its end.
func (s *Service) Used(app, owner string, class sched.Class, slot time.Duration, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registry.used(app, owner, class, slot, done)
}
