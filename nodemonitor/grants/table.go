package grants

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

var _ backend.Backend = (*Table)(nil)

// Config is what a Table needs.
type Config struct {
	Node    string
	Slots   int           // of the node, that serve every application here
	Lease   time.Duration // that a grant carries when no others wait; 0 for none
	Fetch   time.Duration // a grant that was not fetched after this is lost; 0 for 2 s
	Changed func()        // is called without a lock when Serving has changed
}

// Table is the backend of grants. From New to Close its one goroutine, sweep, ends grants
// that are not fetched. Make one with [New].
type Table struct {
	cfg   Config
	stop  chan struct{}
	swept chan struct{} // closed when sweep has ended

	guarded
	assignments *assignments
	closed      bool
}

// New returns an empty table; Close ends it.
func New(cfg Config) *Table {
	if cfg.Fetch == 0 {
		cfg.Fetch = 2 * time.Second
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	t := &Table{cfg: cfg, stop: make(chan struct{}), swept: make(chan struct{}), assignments: newAssignments(&cfg)}
	t.init(t.serving, cfg.Changed)
	go t.sweep()
	return t
}

// Knows reports whether tasks of the application are grants here.
func (t *Table) Knows(app string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.assignments.apps[app] != nil
}

// Start assigns a grant to an executor of its application, or lets it wait for one with
// room.
func (t *Table) Start(task backend.Task, done func(backend.Result)) {
	t.update(func(e *ends) {
		refuse := func(o sched.Outcome, reason string) {
			e.add(func() { done(backend.Result{ID: task.ID, Outcome: o, Reason: reason}) })
		}
		a := t.assignments.apps[task.App]
		switch {
		case t.closed:
			refuse(sched.Killed, backend.Stopping)
		case t.assignments.grants[task.ID] != nil:
			refuse(sched.Failed, reason(t.cfg.Node, &task, runsAlready, awaitEnd))
		case a == nil:
			refuse(sched.Lost, reason(t.cfg.Node, &task, noExecutor, elsewhere))
		default:
			t.assignments.start(a, &grant{task: task, done: done, began: time.Now()})
		}
	})
}

// Kill ends a grant that has not reached its executor. One that has ends, as Killed,
// when its executor returns it.
func (t *Table) Kill(id sched.AttemptID) {
	t.update(func(e *ends) {
		if g := t.assignments.grants[id]; g != nil {
			t.assignments.kill(e, g)
		}
	})
}

// SetNotices sets whether the master's notices of tasks that wait can reach this node;
// at first they cannot. While they cannot, new leases are short, and the others are
// over.
func (t *Table) SetNotices(yes bool) {
	t.update(func(*ends) {
		l := &t.assignments.leases
		if l.hasNotices && !yes {
			l.recall(t.assignments.grants, sched.Short, func(*grant) bool { return false })
		}
		l.hasNotices = yes
	})
}

// OthersWait is called when tasks of an application, owner and class wait at the master: it
// ends the leases of other applications and owners that are not more urgent. A slot that
// one owner keeps is not for another one of the same application.
func (t *Table) OthersWait(app, owner string, c sched.Class) {
	t.update(func(*ends) {
		t.assignments.leases.recall(t.assignments.grants, c, func(g *grant) bool { return g.task.App == app && g.task.Owner == owner })
	})
}

// sweep ends, until Close, the grants that were not fetched in time.
func (t *Table) sweep() {
	defer close(t.swept)
	tick := time.NewTicker(t.cfg.Fetch / 4)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			t.update(func(e *ends) { t.assignments.expire(e, now) })
		case <-t.stop:
			return
		}
	}
}

// Close ends every grant as Killed, answers every executor that waits, and returns when
// every done has been called.
func (t *Table) Close() {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	t.mu.Unlock()
	if first {
		close(t.stop)
	}
	<-t.swept
	t.update(t.assignments.close)
	t.wait()
}
