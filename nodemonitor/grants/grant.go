package grants

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// grant is one attempt.
type grant struct {
	task     backend.Task
	done     func(backend.Result)
	began    time.Time
	executor *executor // nil while waiting
	seq      int64     // at its executor
	answered bool      // it may have reached the executor
	offered  bool      // it was answered with a lease
	leased   bool      // and the lease is not over
	killed   bool
}

func (g *grant) class() sched.Class {
	if g.task.HT {
		return sched.Short
	}
	return sched.Long
}

// mustReturn reports whether the executor must return the slot.
func (g *grant) mustReturn() bool { return g.killed || g.offered && !g.leased }

// What is wrong with an attempt, and what to do next.
const (
	runsAlready = "this attempt runs here already"
	awaitEnd    = "wait for its end"
	noExecutor  = "no executor of its application is here any more"
	elsewhere   = "nothing; it is tried elsewhere"
)

// reason returns a reason of four parts.
func reason(node string, task *backend.Task, what, next string) string {
	return (&api.Error{What: what, Subject: fmt.Sprintf("grant %s of application %q", task.ID, task.App), Tried: fmt.Sprintf("offering a slot of node %q", node), Next: next}).Error()
}
