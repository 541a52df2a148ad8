package application

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Job is a job of grants, or of slots to be held: tasks without a payload of
// their own, which are not journaled.
type Job struct {
	Key      string // unique within the frontend's process
	App      string // whose executors, or the one executor, serve it
	User     string
	Level    string // sent with each grant
	Tasks    int
	Class    sched.Class
	Why      string
	Estimate int64 // ns; 0 for none
}

// classify returns the class of a level and the reason.
type classify func(*api.Level) (sched.Class, string)

// wantLevels makes the jobs of an application's levels match what it wants.
func (reg *registry) wantLevels(a *application, class classify, now time.Time) {
	if !a.Grants {
		return
	}
	stated := make(map[string]bool, len(a.wants.Levels))
	for i := range a.wants.Levels {
		t := &a.wants.Levels[i]
		stated[t.Name] = true
		l := a.levels[t.Name]
		if l == nil {
			l = &level{base: t.Had, since: now}
			a.levels[t.Name] = l
		}
		if t.Had > l.Had || l.wanted() == 0 {
			l.since, l.lastReplaced = now, 0
		}
		l.Level = *t
		l.class, l.classReason = class(t)
		if t.Why != "" {
			l.classReason = t.Why
		}
		reg.balance(a, l)
	}
	for name := range a.levels {
		if !stated[name] {
			reg.dropLevel(a, name)
		}
	}
}

// replaceOverdue places again what has waited for too long, if there is more than
// one group to place it in.
func (reg *registry) replaceOverdue(a *application, now time.Time) {
	if reg.groups < 2 {
		return
	}
	for _, l := range a.levels { // in any order
		if l.overdue(now) {
			reg.effects.withdraw = append(reg.effects.withdraw, l.retract()...)
			reg.balance(a, l)
		}
	}
}

func (reg *registry) balance(a *application, l *level) {
	more, cuts := l.balance()
	reg.effects.withdraw = append(reg.effects.withdraw, cuts...)
	if more == 0 {
		return
	}
	j := &levelJob{key: a.jobKey("grants"), class: l.class, tasks: int(more)}
	l.submitted(j)
	reg.effects.submit = append(reg.effects.submit, Job{
		Key: j.key, App: a.ID, User: a.User, Level: l.Name, Tasks: j.tasks, Class: l.class, Why: l.classReason, Estimate: int64(l.Estimate),
	})
}

// jobKey returns the key of the next job of an application. The frontend remembers
// the jobs of its earlier processes, so no key is used twice.
func (a *application) jobKey(what string) string {
	a.jobs++
	return fmt.Sprintf("%s/%s-%d-%d", a.ID, what, a.began.UnixNano(), a.jobs)
}

// dropLevel cancels the jobs of a level that wants nothing more.
func (reg *registry) dropLevel(a *application, name string) {
	for _, j := range a.levels[name].jobs {
		reg.effects.withdraw = append(reg.effects.withdraw, withdrawal{key: j.key})
	}
	delete(a.levels, name)
}

// taskEnded applies the end of a grant. missed means that it may not have reached
// the application.
func (reg *registry) taskEnded(app, level, key string, missed bool) {
	a := reg.apps[app]
	if a == nil || a.levels[level] == nil {
		return
	}
	l := a.levels[level]
	l.taskEnded(key, missed)
	if missed {
		reg.balance(a, l)
	}
}

// holdSlots submits the job that holds the slots of an executor that takes no
// grants. It is of the short class: its user has chosen slots of their own over
// shared ones, and waits for them.
func (reg *registry) holdSlots(a *application, p *executor, slots int) {
	if a.Grants || p.holds != "" || p.stop || slots <= 0 {
		return
	}
	p.holds = a.jobKey("slots")
	reg.effects.submit = append(reg.effects.submit, Job{
		Key: p.holds, App: a.ID + "/" + p.id, User: a.User, Tasks: slots, Class: sched.Short, Why: "an executor that takes no grants holds its slots",
	})
}

func (reg *registry) freeSlots(p *executor) {
	if p.holds != "" {
		reg.effects.withdraw = append(reg.effects.withdraw, withdrawal{key: p.holds})
		p.holds = ""
	}
}
