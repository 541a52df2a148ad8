package grants

import (
	"fmt"
	"maps"
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
	Fetch   time.Duration // a grant that nobody has fetched after this is lost; 0 for 2 s
	Changed func()        // Serving has changed; called without a lock
}

// Table is the backend of grants. One goroutine of its own, sweep, takes back
// what nobody fetches, from New to Close. Make one with [New].
type Table struct {
	cfg  Config
	stop chan struct{}
	gone chan struct{} // closed when sweep has ended

	mu     sync.Mutex
	empty  *sync.Cond // grants and calls became fewer
	apps   map[string]*application
	grants map[sched.AttemptID]*grant
	holds  map[string]*hold // by the application its attempts name
	calls  int              // of done that are under way
	told   []string         // the last of Serving that Changed was called for
	stats  Stats
	closed bool
	hears  bool // the master's word can come
}

// application is one that has, or had, executors here.
type application struct {
	id        string
	executors map[string]*executor
	waiting   []*grant  // no executor had room, in their order
	attached  uint64    // counts attachments
	full      time.Time // since when there is no room; zero while there is
}

// executor is a process that was started here.
//
// Invariants: held has the grants that are assigned or bound to it; queue those
// of them that were not acknowledged, by ascending seq.
type executor struct {
	id, token string
	order     uint64 // of its attachment; 0 before
	slots     int
	silent    bool // let a grant lie
	held      map[sched.AttemptID]*grant
	queue     []*grant
	seq       int64
	giveBack  bool          // news of grants whose lease is over
	wake      chan struct{} // closed and replaced when there is news
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
	leased   bool      // which goes on
	killed   bool
}

// Stats count since the start, but for Held and Waiting.
type Stats struct {
	Granted  uint64 `json:"granted"` // reached an executor
	Used     uint64 `json:"used"`
	Declined uint64 `json:"declined"`
	Unfit    uint64 `json:"unfit"`
	Lost     uint64 `json:"lost"`     // nobody fetched them
	Failed   uint64 `json:"failed"`   // their executor ended
	Leased   uint64 `json:"leased"`   // given with a lease
	Recalled uint64 `json:"recalled"` // whose lease ended because others wait
	Held     int    `json:"held"`
	Waiting  int    `json:"waiting"`
}

// New makes a table; Close ends it.
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
	t.empty = sync.NewCond(&t.mu)
	go t.sweep()
	return t
}

// update changes the table and then, without the lock, makes the calls that
// follow from it: the ends of attempts, and the word that Serving has changed.
func (t *Table) update(change func(e *ends)) {
	t.mu.Lock()
	var e ends
	change(&e)
	changed := false
	if now := t.serving(); !slices.Equal(now, t.told) {
		t.told, changed = now, true
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
	t.empty.Broadcast()
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

// Serving lists the applications with room for a grant, and those whose slots are
// waited for, sorted.
func (t *Table) Serving() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serving()
}

// serving needs the lock.
func (t *Table) serving() []string {
	var list []string
	for id, a := range t.apps {
		if t.serves(a) {
			list = append(list, id)
		}
	}
	for id, h := range t.holds {
		if len(h.held) < h.slots {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// linger is for how long an application without room is served all the same. A
// node that serves it no more has its master move all that waits for it, which
// is dear when the room comes back with the next end of a short task.
const linger = 50 * time.Millisecond

// serves reports whether the node's slots are for the application too. Where its
// executors have as many slots as the node, a free slot finds room in them,
// whatever they hold. It needs the lock.
func (t *Table) serves(a *application) bool {
	room, slots := a.room()
	switch {
	case slots == 0:
		return false
	case slots >= t.cfg.Slots || room > 0:
		a.full = time.Time{}
		return true
	case a.full.IsZero():
		a.full = time.Now()
		time.AfterFunc(linger, t.look)
	}
	return time.Since(a.full) < linger
}

// look tells when Serving has changed by the passing of time.
func (t *Table) look() {
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if !closed {
		t.update(func(*ends) {})
	}
}

// room is how many grants more the executors can take, and how many at all.
func (a *application) room() (room, slots int) {
	room = -len(a.waiting)
	for _, x := range a.executors {
		if x.order > 0 && !x.silent {
			room += x.room()
			slots += x.slots
		}
	}
	return room, slots
}

func (x *executor) room() int {
	if x.order == 0 || x.silent {
		return 0
	}
	return max(0, x.slots-len(x.held))
}

// Admit says that an executor was started, which may attach with the token.
func (t *Table) Admit(app, executorID, token string) {
	t.update(func(*ends) {
		a := t.apps[app]
		if a == nil {
			a = &application{id: app, executors: map[string]*executor{}}
			t.apps[app] = a
		}
		a.executors[executorID] = &executor{id: executorID, token: token, held: map[sched.AttemptID]*grant{}, wake: make(chan struct{})}
	})
}

// Remove says that an executor has ended; reason is for who asks about its
// grants. What had not reached it goes to another.
func (t *Table) Remove(app, executorID, reason string) {
	t.update(func(e *ends) {
		a := t.apps[app]
		if a == nil || a.executors[executorID] == nil {
			return
		}
		x := a.executors[executorID]
		delete(a.executors, executorID)
		x.news()
		for _, g := range x.inOrder() {
			if g.answered {
				t.stats.Failed++
				t.end(e, g, sched.Failed, t.words(&g.task, "its executor "+executorID+" ended: "+reason, "nothing; the application asks for another"))
				continue
			}
			g.executor = nil
			a.waiting = append(a.waiting, g)
		}
		t.assign(a)
	})
}

// Forget says that the application is over: its executors have ended, and grants
// that still come are not for anybody.
func (t *Table) Forget(app string) {
	t.update(func(e *ends) {
		a := t.apps[app]
		if a == nil {
			return
		}
		for _, x := range a.executors {
			x.news()
			a.waiting = append(a.waiting, x.inOrder()...)
		}
		for _, g := range a.waiting {
			t.end(e, g, sched.Failed, t.words(&g.task, "its application is over", "nothing"))
		}
		delete(t.apps, app)
	})
}

// inOrder returns the executor's grants by the order in which it got them.
func (x *executor) inOrder() []*grant {
	return slices.SortedFunc(maps.Values(x.held), func(a, b *grant) int { return int(a.seq - b.seq) })
}

// news wakes who waits for the executor's grants.
func (x *executor) news() {
	close(x.wake)
	x.wake = make(chan struct{})
}

// Stats returns the counts so far.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	for _, a := range t.apps {
		s.Waiting += len(a.waiting)
	}
	s.Held = len(t.grants) - s.Waiting
	return s
}

// Attached says whether the executor takes grants, and how many it holds.
func (t *Table) Attached(app, executorID string) (attached bool, held int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.apps[app]
	if a == nil || a.executors[executorID] == nil {
		return false, 0
	}
	x := a.executors[executorID]
	return x.order > 0, len(x.held)
}

// words makes a reason of four parts.
func (t *Table) words(task *backend.Task, what, next string) string {
	return (&api.Error{What: what, Subject: fmt.Sprintf("grant %s of application %q", task.ID, task.App), Tried: fmt.Sprintf("offering a slot of node %q", t.cfg.Node), Next: next}).Error()
}
