package frontend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of what waits for one application, and of how long it is tried.
const (
	relayQueue   = 100_000
	relayApps    = 10_000
	relayTries   = 5
	relayTimeout = 5 * time.Second
)

// relay delivers frontendMessage calls to applications, in order, each once: a
// call that may have been executed is never repeated.
type relay struct {
	log       *slog.Logger
	internal  string // where this frontend serves other daemons
	scheduler string // where it serves applications

	mu     sync.Mutex
	apps   map[string]*appQueue
	closed bool
	all    sync.WaitGroup
	lost   uint64 // messages given up
}

// appQueue is what waits for one application.
type appQueue struct {
	address string
	pool    *client.Pool
	waiting []appMessage
	wake    chan struct{}
	stop    context.CancelFunc
}

type appMessage struct {
	task   wire.TaskRef
	status int32
	body   []byte
}

func newRelay(log *slog.Logger) *relay { return &relay{log: log, apps: map[string]*appQueue{}} }

// register says where an application listens; a new address replaces the old
// one and what waits goes there.
func (r *relay) register(app, address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.apps[app]
	switch {
	case r.closed:
		return errors.New("the frontend is stopping")
	case old != nil && old.address == address:
		return nil
	case old == nil && len(r.apps) >= relayApps:
		return &api.Error{Problem: api.Busy, What: fmt.Sprintf("%d applications are registered, which is the limit", relayApps), Subject: fmt.Sprintf("application %q", app),
			Tried: "registering it", Next: "use another frontend", RetryAfter: time.Minute}
	}
	pool, err := client.New(client.Options{Name: fmt.Sprintf("application %q", app), Address: address, MaxConns: 1, CallTimeout: relayTimeout})
	if err != nil {
		return err
	}
	q := &appQueue{address: address, pool: pool, wake: make(chan struct{}, 1)}
	if old != nil {
		q.waiting, old.waiting = old.waiting, nil
		old.stop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	q.stop = cancel
	r.apps[app] = q
	q.wake <- struct{}{}
	r.all.Go(func() { r.run(ctx, app, q) })
	return nil
}

// say queues a message for an application. Without one registered there is
// nobody to tell: a backend is told so, an ended built-in task is not missed.
func (r *relay) say(app string, m appMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.apps[app]
	switch {
	case q == nil:
		return &api.Error{Problem: api.NotFound, What: "no application of that name has registered where it listens", Subject: fmt.Sprintf("application %q", app),
			Tried: fmt.Sprintf("passing a message of task %s on", m.task.Task), Next: "call registerFrontend first"}
	case len(q.waiting) >= relayQueue:
		return &api.Error{Problem: api.Busy, What: fmt.Sprintf("%d messages wait for the application, which is the limit", relayQueue), Subject: fmt.Sprintf("application %q at %s", app, q.address),
			Tried: "queueing one more", Next: "see whether the application still answers", RetryAfter: time.Second}
	}
	q.waiting = append(q.waiting, m)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// tell queues the end of a task of a built-in backend, if its application wants
// to hear of it.
func (r *relay) tell(t builtinEnd) {
	if err := r.say(t.app, appMessage{task: t.task, status: t.status}); err != nil {
		var e *api.Error
		if errors.As(err, &e) && e.Problem == api.Busy {
			r.log.Warn("the end of a task was not passed on", "problem", err)
		}
	}
}

func (r *relay) run(ctx context.Context, app string, q *appQueue) {
	defer func() { _ = q.pool.Close() }()
	to := wire.NewFrontendClient(q.pool)
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			m, ok := r.next(q)
			if !ok {
				break
			}
			if err := deliver(ctx, to, m); err != nil {
				r.gaveUp(app, q, m, err)
			}
		}
	}
}

func (r *relay) next(q *appQueue) (appMessage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		return appMessage{}, false
	}
	m := q.waiting[0]
	q.waiting[0] = appMessage{}
	q.waiting = q.waiting[1:]
	return m, true
}

// deliver makes one call; only a call that was never sent is tried again.
func deliver(ctx context.Context, to *wire.FrontendClient, m appMessage) (err error) {
	for range relayTries {
		err = to.FrontendMessage(ctx, m.task, m.status, m.body)
		var failed *client.CallError
		if err == nil || ctx.Err() != nil || !errors.As(err, &failed) || failed.Sent {
			return err
		}
	}
	return err
}

func (r *relay) gaveUp(app string, q *appQueue, m appMessage, err error) {
	r.mu.Lock()
	r.lost++
	r.mu.Unlock()
	r.log.Warn("a message was not delivered to its application", "application", app, "address", q.address, "job", m.task.Job, "task", m.task.Task, "problem", err)
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

// RegisterFrontend says where an application listens.
func (f *Frontend) RegisterFrontend(_ context.Context, app, address string) error {
	if app == "" || len(app) > api.MaxKeyBytes {
		return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("its name is empty or longer than %d bytes", api.MaxKeyBytes), Subject: fmt.Sprintf("application at %s", address), Next: "give it a name"}
	}
	if err := f.relay.register(app, address); err != nil {
		return err
	}
	return f.journal.Append([]journal.Record{{Kind: journal.AppAt, App: app, Socket: address}}, nil)
}

// FrontendMessage passes on what a backend says to its application.
func (f *Frontend) FrontendMessage(_ context.Context, app string, task wire.TaskRef, status int32, message []byte) error {
	return f.relay.say(app, appMessage{task: task, status: status, body: message})
}
