package frontend

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of what waits for applications, and of how long it does.
const (
	relayApps    = 10_000
	relayQueue   = 100_000   // messages for one application
	relayBytes   = 256 << 20 // of all messages
	relayTimeout = 5 * time.Second
	relayWait    = time.Minute // for an application that cannot be reached
)

// relay delivers frontendMessage calls to applications, in order, each once:
//
//	waiting ──call answered──────────────────────────────▶ delivered
//	   │  ▲────application cannot be reached────┐
//	   │  └────────at its address of then───────┘
//	   ├──call sent and not answered (it may have been executed)──▶ lost
//	   └──unreachable for relayWait───────────────────────────────▶ lost
//
// One goroutine for each application makes its calls.
type relay struct {
	log     *slog.Logger
	patient time.Duration // relayWait, shorter in tests

	mu     sync.Mutex
	apps   map[string]*appQueue
	bytes  int // of what waits
	count  relayStats
	closed bool
	all    sync.WaitGroup
}

// relayStats are counts since the start, but for waiting.
type relayStats struct {
	waiting         int
	delivered, lost uint64
}

// appQueue is what waits for one application. All but wake is guarded by the
// relay's mu.
type appQueue struct {
	app     string
	address string
	pool    *client.Pool
	waiting []appMessage
	used    time.Time     // registered, or given a message
	wake    chan struct{} // of size 1: something waits, or the address is new
	ctx     context.Context
	stop    context.CancelFunc
}

type appMessage struct {
	task   wire.TaskRef
	status int32
	body   []byte
	since  time.Time
}

func (m *appMessage) size() int { return len(m.body) + 200 } // about what the rest takes

func newRelay(log *slog.Logger) *relay {
	return &relay{log: log, patient: relayWait, apps: map[string]*appQueue{}}
}

// register returns where an application listens; a new address replaces the old
// one, and what waits goes there. forgotten names an application that had to make
// room, "" for none.
func (r *relay) register(app, address string) (forgotten string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.apps[app]
	if q != nil && q.address == address {
		q.used = time.Now()
		return "", nil
	}
	pool, err := client.New(client.Options{Name: fmt.Sprintf("application %q", app), Address: address, MaxConns: 1, FailFast: true, BackoffMax: 2 * relayPause})
	if err != nil {
		return "", err
	}
	switch {
	case r.closed:
		_ = pool.Close() // never used; it has no error
		return "", r.gone(app)
	case q != nil:
		old := q.pool
		r.all.Go(func() { _ = old.Close() }) // it waits for the call that it ends
		q.address, q.pool, q.used = address, pool, time.Now()
		q.poke()
		return "", nil
	case len(r.apps) >= relayApps:
		if forgotten, err = r.makeRoom(app); err != nil {
			_ = pool.Close() // never used
			return "", err
		}
	}
	q = &appQueue{app: app, address: address, pool: pool, used: time.Now(), wake: make(chan struct{}, 1)}
	q.ctx, q.stop = context.WithCancel(context.Background())
	r.apps[app] = q
	r.all.Go(func() { r.run(q) })
	return forgotten, nil
}

// makeRoom forgets the application that was used the longest ago, of those for
// which nothing waits. It needs the lock.
func (r *relay) makeRoom(app string) (forgotten string, err error) {
	var idlest *appQueue
	for _, q := range r.apps {
		if len(q.waiting) == 0 && (idlest == nil || q.used.Before(idlest.used)) {
			idlest = q
		}
	}
	if idlest == nil {
		return "", &api.Error{Problem: api.Busy, What: fmt.Sprintf("%d applications are registered, which is the limit, and messages wait for all", relayApps), Subject: fmt.Sprintf("application %q", app),
			Tried: "registering it", Next: "use another frontend", RetryAfter: time.Minute}
	}
	delete(r.apps, idlest.app)
	idlest.stop()
	return idlest.app, nil
}

func (r *relay) gone(app string) error {
	return &api.Error{Problem: api.NotReady, What: "the frontend is stopping", Subject: fmt.Sprintf("application %q", app), Next: "try again when it is back"}
}

// say queues a message for an application. Without one registered there is
// nobody to tell: a backend is told so, an ended built-in task is not missed.
func (r *relay) say(app string, m appMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.apps[app]
	switch {
	case r.closed:
		return r.gone(app)
	case q == nil:
		return &api.Error{Problem: api.NotFound, What: "no application of that name has registered where it listens", Subject: fmt.Sprintf("application %q", app),
			Tried: fmt.Sprintf("passing a message of task %s on", m.task.Task), Next: "call registerFrontend first"}
	case len(q.waiting) >= relayQueue:
		return r.full(q, fmt.Sprintf("%d messages wait for it, which is the limit", relayQueue))
	case r.bytes+m.size() > relayBytes:
		return r.full(q, fmt.Sprintf("%d bytes of messages wait for applications; the limit is %d", r.bytes, relayBytes))
	}
	m.since = time.Now()
	q.used = m.since
	q.waiting = append(q.waiting, m)
	r.bytes += m.size()
	r.count.waiting++
	q.poke()
	return nil
}

func (r *relay) full(q *appQueue, what string) error {
	r.count.lost++
	return &api.Error{Problem: api.Busy, What: what, Subject: fmt.Sprintf("application %q at %s", q.app, q.address),
		Tried: "queueing one more", Next: "see whether the application still answers", RetryAfter: time.Second}
}

// tell queues the end of a task of a built-in backend, if its application wants
// to hear of it. What finds no room is counted.
func (r *relay) tell(t builtinEnd) {
	if r.knows(t.app) {
		_ = r.say(t.app, appMessage{task: t.task, status: t.status})
	}
}

func (r *relay) knows(app string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.apps[app] != nil
}

func (r *relay) stats() relayStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// close ends all deliveries and waits for them.
func (r *relay) close() {
	r.mu.Lock()
	r.closed = true
	for _, q := range r.apps {
		q.stop()
	}
	r.mu.Unlock()
	r.all.Wait()
}

func (q *appQueue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
