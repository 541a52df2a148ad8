package application

import (
	"cmp"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Job is a job of grants, or of slots to be held: tasks without a payload of
// their own, which are not journaled.
type Job struct {
	Key       string // unique within the frontend's process
	App       string // the application, or the one executor, that serves it
	User      string
	Owner     string // for whom it runs
	Submitter string // who registered the application
	Priority  int32  // among the jobs of the owner
	Level     string // sent with each grant
	Tasks     int
	Class     sched.Class
	Why       string
	Estimate  int64 // ns; 0 for none
}

// classify returns the class of a level and the reason.
type classify func(*api.Level) (sched.Class, string)

// grantJobs is the jobs of one application: those of its levels, and those that hold
// the slots of executors without grants.
type grantJobs struct {
	app, user string
	owner     string    // of levels that name no owner
	submitter string    // who registered the application
	began     time.Time // when the application was registered here
	count     int       // of jobs submitted
	levels    map[string]*level
	effects   *effects
}

// want makes the jobs match the levels that the application wants now.
func (g *grantJobs) want(levels []api.Level, class classify, now time.Time) {
	stated := make(map[string]bool, len(levels))
	for i := range levels {
		t := &levels[i]
		stated[t.Name] = true
		l := g.levels[t.Name]
		if l == nil {
			l = &level{base: t.Had, since: now}
			g.levels[t.Name] = l
		}
		if t.Had > l.Had || l.wanted() == 0 {
			l.since, l.lastReplaced = now, 0
		}
		l.Level = *t
		l.class, l.classReason = class(t)
		if t.Why != "" {
			l.classReason = t.Why
		}
		g.balance(l)
	}
	for name := range g.levels {
		if !stated[name] {
			g.drop(name)
		}
	}
}

// replaceOverdue withdraws the tasks that have waited for too long and submits them
// again.
func (g *grantJobs) replaceOverdue(now time.Time) {
	for _, l := range g.levels { // in any order
		if l.overdue(now) {
			g.effects.withdraw = append(g.effects.withdraw, l.withdrawWaiting()...)
			g.balance(l)
		}
	}
}

func (g *grantJobs) balance(l *level) {
	missing, cuts := l.balance()
	g.effects.withdraw = append(g.effects.withdraw, cuts...)
	if missing == 0 {
		return
	}
	j := &levelJob{key: g.key("grants"), class: l.class, tasks: int(missing)}
	l.submitted(j)
	g.effects.submit = append(g.effects.submit, Job{
		Key: j.key, App: g.app, User: g.user, Owner: cmp.Or(l.Owner, g.owner), Submitter: g.submitter, Priority: l.Priority, Level: l.Name, Tasks: j.tasks, Class: l.class, Why: l.classReason, Estimate: int64(l.Estimate),
	})
}

// key returns the key of the next job. The frontend remembers the jobs of its earlier
// processes, so no key is used twice.
func (g *grantJobs) key(what string) string {
	g.count++
	return fmt.Sprintf("%s/%s-%d-%d", g.app, what, g.began.UnixNano(), g.count)
}

// drop cancels the jobs of a level that the application no longer wants.
func (g *grantJobs) drop(name string) {
	for _, j := range g.levels[name].jobs {
		g.effects.withdraw = append(g.effects.withdraw, withdrawal{key: j.key})
	}
	delete(g.levels, name)
}

// taskEnded applies the end of a grant. missed means that the grant may not have
// reached the application.
func (g *grantJobs) taskEnded(level, key string, missed bool) {
	l := g.levels[level]
	if l == nil {
		return
	}
	l.taskEnded(key, missed)
	if missed {
		g.balance(l)
	}
}

// hold submits the job that holds the slots of an executor. It is of the short class:
// its user has chosen exclusive slots over shared ones, and waits for them.
func (g *grantJobs) hold(p *executor, slots int) {
	p.holds, p.holding = g.key("slots"), slots
	g.effects.submit = append(g.effects.submit, Job{
		Key: p.holds, App: g.app + "/" + p.id, User: g.user, Owner: g.owner, Submitter: g.submitter, Tasks: slots, Class: sched.Short, Why: "an executor that takes no grants holds its slots",
	})
}

// free cancels the job that holds the slots of an executor, if there is one.
func (g *grantJobs) free(p *executor) {
	if p.holds != "" {
		g.effects.withdraw = append(g.effects.withdraw, withdrawal{key: p.holds})
		p.holds, p.holding = "", 0
	}
}

// holdMissed gives up the job that holds the slots of an executor when a task of it did not reach
// the executor: what is left of it is withdrawn, and the next holdings submit what is missing.
func (g *grantJobs) holdMissed(p *executor, key string, missed bool) {
	if missed && p.holds == key {
		g.free(p)
	}
}
