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
	Level    string // told with each grant
	Tasks    int
	Class    sched.Class
	Why      string
	Estimate int64 // ns; 0 for none
}

// classify finds the class of a level and says why.
type classify func(*api.Level) (sched.Class, string)

// wantLevels brings the jobs of an application's levels into step with what it
// wants.
func (b *registry) wantLevels(a *application, class classify, now time.Time) {
	if !a.Grants {
		return
	}
	told := make(map[string]bool, len(a.wants.Levels))
	for i := range a.wants.Levels {
		t := &a.wants.Levels[i]
		told[t.Name] = true
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
		b.balance(a, l)
	}
	for name := range a.levels {
		if !told[name] {
			b.dropLevel(a, name)
		}
	}
}

// replaceOverdue places anew what has waited for too long, where there is more than
// one group to place it in.
func (b *registry) replaceOverdue(a *application, now time.Time) {
	if b.groups < 2 {
		return
	}
	for _, l := range a.levels { // they do not depend on each other
		if l.overdue(now) {
			b.effects.withdraw = append(b.effects.withdraw, l.retract()...)
			b.balance(a, l)
		}
	}
}

func (b *registry) balance(a *application, l *level) {
	more, cuts := l.balance()
	b.effects.withdraw = append(b.effects.withdraw, cuts...)
	if more == 0 {
		return
	}
	j := &levelJob{key: a.jobKey("grants"), class: l.class, tasks: int(more)}
	l.submitted(j)
	b.effects.submit = append(b.effects.submit, Job{
		Key: j.key, App: a.ID, User: a.User, Level: l.Name, Tasks: j.tasks, Class: l.class, Why: l.classReason, Estimate: int64(l.Estimate),
	})
}

// jobKey names the next job of an application. The frontend remembers the jobs of
// earlier processes of it, so that no name comes twice.
func (a *application) jobKey(what string) string {
	a.jobs++
	return fmt.Sprintf("%s/%s-%d-%d", a.ID, what, a.began.UnixNano(), a.jobs)
}

// dropLevel cancels the jobs of a level of which nothing more is wanted.
func (b *registry) dropLevel(a *application, name string) {
	for _, j := range a.levels[name].jobs {
		b.effects.withdraw = append(b.effects.withdraw, withdrawal{key: j.key})
	}
	delete(a.levels, name)
}

// taskEnded takes note of a grant that is over. missed says that it may not have
// reached the application.
func (b *registry) taskEnded(app, level, key string, missed bool) {
	a := b.apps[app]
	if a == nil || a.levels[level] == nil {
		return
	}
	l := a.levels[level]
	l.taskEnded(key, missed)
	if missed {
		b.balance(a, l)
	}
}

// holdSlots gives out the job that holds the slots of an executor that takes no
// grants. It is of the short class: an executor that could use a slot for hours is
// asked for by name, and what waits for it is a person who has chosen to have
// slots of their own.
func (b *registry) holdSlots(a *application, p *executor, slots int) {
	if a.Grants || p.holds != "" || p.stop || slots <= 0 {
		return
	}
	p.holds = a.jobKey("slots")
	b.effects.submit = append(b.effects.submit, Job{
		Key: p.holds, App: a.ID + "/" + p.id, User: a.User, Tasks: slots, Class: sched.Short, Why: "an executor that takes no grants holds its slots",
	})
}

func (b *registry) freeSlots(p *executor) {
	if p.holds != "" {
		b.effects.withdraw = append(b.effects.withdraw, withdrawal{key: p.holds})
		p.holds = ""
	}
}
