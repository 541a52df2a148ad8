package grants

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// Config is what a Table needs.
type Config struct {
	Node    string
	Slots   int           // of the node, that serve every application here
	Lease   time.Duration // that a grant carries when no others wait; 0 for none
	Fetch   time.Duration // a grant that was not fetched after this is lost; 0 for 2 s
	Changed func()        // is called without a lock when Serving has changed
}

// Table is the backend of grants. One goroutine of its own, sweep, ends grants that
// are not fetched, from New to Close. Make one with [New].
type Table struct {
	cfg  Config
	stop chan struct{}
	gone chan struct{} // closed when sweep has ended

	mu         sync.Mutex
	fewer      *sync.Cond // grants and calls became fewer
	apps       map[string]*application
	grants     map[sched.AttemptID]*grant
	holds      map[string]*hold // by the application its attempts name
	calls      int              // of done that are under way
	served     []string         // Serving when Changed was called last
	stats      Stats
	closed     bool
	hasNotices bool // the master's notices can arrive
}

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

// New returns an empty table; Close ends it.
func New(cfg Config) *Table {
	if cfg.Fetch == 0 {
		cfg.Fetch = 2 * time.Second
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	t := &Table{
		cfg: cfg, stop: make(chan struct{}), gone: make(chan struct{}),
		apps: map[string]*application{}, grants: map[sched.AttemptID]*grant{}, holds: map[string]*hold{},
	}
	t.fewer = sync.NewCond(&t.mu)
	go t.sweep()
	return t
}

// update changes the table and then, without the lock, makes the calls that
// follow from it: the ends of attempts, and Changed.
func (t *Table) update(change func(e *ends)) {
	t.mu.Lock()
	var e ends
	change(&e)
	changed := false
	if now := t.serving(); !slices.Equal(now, t.served) {
		t.served, changed = now, true
	}
	t.calls++
	t.mu.Unlock()
	for _, f := range e.calls {
		f()
	}
	if changed {
		t.cfg.Changed()
	}
	t.mu.Lock()
	t.calls--
	t.mu.Unlock()
	t.fewer.Broadcast()
}

// ends collects calls that must be made without the lock.
type ends struct{ calls []func() }

func (e *ends) add(f func()) { e.calls = append(e.calls, f) }

// Knows reports whether tasks of the application are grants here.
func (t *Table) Knows(app string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.apps[app] != nil || t.holds[app] != nil
}

// Close ends every grant and hold as Killed, answers every executor that waits, and
// returns when every done has been called.
func (t *Table) Close() {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	t.mu.Unlock()
	if first {
		close(t.stop)
	}
	<-t.gone
	t.update(func(e *ends) {
		for _, g := range t.grants { // they do not depend on each other
			t.end(e, g, sched.Killed, backend.Stopping)
		}
		for _, h := range t.holds {
			t.release(e, h, sched.Killed, backend.Stopping)
		}
		for _, a := range t.apps {
			for _, x := range a.executors {
				x.wakeUp()
			}
		}
		clear(t.apps)
		clear(t.holds)
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.calls > 0 {
		t.fewer.Wait()
	}
}

// reason returns a reason of four parts.
func (t *Table) reason(task *backend.Task, what, next string) string {
	return (&api.Error{What: what, Subject: fmt.Sprintf("grant %s of application %q", task.ID, task.App), Tried: fmt.Sprintf("offering a slot of node %q", t.cfg.Node), Next: next}).Error()
}
