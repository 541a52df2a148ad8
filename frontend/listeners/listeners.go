// Package listeners registers where applications listen for messages about their tasks,
// and delivers the messages: those of backend processes, and the ends of tasks that ran
// in a built-in backend.
package listeners

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of what is kept for applications.
const (
	MaxApplications = 10_000
	MaxMessages     = 100_000  // queued for one application
	MaxBytes        = 64 << 20 // of messages queued for one application
	maxBytes        = 256 << 20
	callTimeout     = 5 * time.Second
	retryPause      = 100 * time.Millisecond
	// userPart is the part of the applications, and of the bytes that wait for all of them, that
	// those of one user may have.
	userPart = 2

	// Patience is how long messages wait for an application that cannot be reached.
	Patience = time.Minute
	// closePatience is how long Close goes on delivering: whoever sent a message has been told that it
	// was taken.
	closePatience = 2 * time.Second
)

// Message is about a task of an application.
type Message struct {
	Task   wire.TaskRef
	Status int32
	Body   []byte
}

// size counts what a message holds, its names too: a sender may give them any length.
func (m Message) size() int {
	return len(m.Body) + len(m.Task.Task) + len(m.Task.Job) + len(m.Task.App) + 200 // the other fields, roughly
}

// Listeners are the applications that have registered where they listen. They are
// safe for concurrent use. Make them with New.
type Listeners struct {
	log    *slog.Logger
	relay  *relay.Relay[Message]
	ending sync.WaitGroup // for pools that are being closed
	// dropped is of messages that are not delivered: a hundred thousand may wait for an application
	// that has gone.
	dropped daemon.SharedLogPace

	mu     sync.Mutex
	apps   map[string]*listener
	users  map[string]int // of apps, by user; none is 0
	closed bool
}

type listener struct {
	app     string
	address string
	pool    *client.Pool
	used    time.Time // registered, or sent a message
}

// New returns an empty set of listeners; the caller must call Close. patience is Patience,
// shorter in tests.
func New(log *slog.Logger, patience time.Duration) *Listeners {
	l := &Listeners{log: log, apps: map[string]*listener{}, users: map[string]int{}}
	l.relay = relay.New(relay.Options[Message]{
		Deliver: l.deliver, Size: Message.size,
		Unreachable: func(app string, why error) {
			log.Warn("an application cannot be reached; its messages wait", "application", app, "at most", patience, "error", why)
		},
		Dropped: func(app string, m Message, why error) {
			if omitted, due := l.dropped.Due(app); due {
				log.Warn("a message was not delivered to its application, or may not have been; it is not sent again", "application", app, "job", api.Clip(m.Task.Job, api.MaxKeyBytes), "task", api.Clip(m.Task.Task, api.MaxKeyBytes), "error", why, "omitted", omitted)
			}
		},
		Destinations: MaxApplications, Messages: MaxMessages, Bytes: MaxBytes, TotalBytes: maxBytes,
		Group: api.AppScope, GroupBytes: maxBytes / userPart,
		Patience: patience, MinPause: retryPause, MaxPause: retryPause,
	})
	return l
}

// Register sets where an application listens. A new address replaces the old one, and
// waiting messages are sent there. evicted is the application that was removed to make
// room, "" for none.
func (l *Listeners) Register(app, address string) (evicted string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.apps[app]
	if known != nil && known.address == address {
		known.used = time.Now()
		return "", nil
	}
	if l.closed {
		return "", stopping(app)
	}
	pool, err := client.New(client.Options{Name: fmt.Sprintf("application %q", app), Address: address, MaxConns: 1, FailFast: true, BackoffMax: 2 * retryPause})
	if err != nil {
		return "", err
	}
	if known != nil {
		l.end(known.pool)
	} else {
		if evicted, err = l.makeRoom(app); err != nil {
			_ = pool.Close() // never used; it has no error
			return "", err
		}
		l.users[api.AppScope(app)]++
	}
	l.apps[app] = &listener{app: app, address: address, pool: pool, used: time.Now()}
	l.relay.Retry(app)
	return evicted, nil
}

// end closes a pool that is not used any more.
func (l *Listeners) end(pool *client.Pool) {
	l.ending.Go(func() { _ = pool.Close() }) // it waits for the call that it ends; it has no error
}

// makeRoom removes, where there is no room for another application, the least recently used one
// for which no message waits: one of the same user when that user has a full part. The caller
// holds the lock.
func (l *Listeners) makeRoom(app string) (evicted string, err error) {
	user := api.AppScope(app)
	same := user != "" && l.users[user] >= MaxApplications/userPart
	if len(l.apps) < MaxApplications && !same {
		return "", nil
	}
	var idlest *listener
	for _, a := range l.apps {
		if same && api.AppScope(a.app) != user {
			continue
		}
		if (idlest == nil || a.used.Before(idlest.used)) && l.relay.Idle(a.app) {
			idlest = a
		}
	}
	if idlest == nil {
		return "", noRoom(app, user, same)
	}
	delete(l.apps, idlest.app)
	if user = api.AppScope(idlest.app); l.users[user] == 1 {
		delete(l.users, user)
	} else {
		l.users[user]--
	}
	l.end(idlest.pool)
	return idlest.app, nil
}

// Send queues a message for an application.
func (l *Listeners) Send(app string, m Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.apps[app]
	if a == nil {
		return notListening(app, m.Task.Task)
	}
	a.used = time.Now()
	err := l.relay.Send(app, m)
	switch {
	case errors.Is(err, relay.ErrClosed):
		return stopping(app)
	case err != nil:
		return tooManyWait(err, app, a.address)
	}
	return nil
}

// SendEnd queues the end of a task for an application, if it is registered. If there is
// no room, the message is only counted.
func (l *Listeners) SendEnd(app string, m Message) {
	if l.registered(app) {
		_ = l.Send(app, m)
	}
}

func (l *Listeners) registered(app string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.apps[app] != nil
}

// deliver makes one call.
func (l *Listeners) deliver(ctx context.Context, app string, m Message) error {
	pool := l.poolOf(app)
	if pool == nil {
		return errors.New("its registration was removed to make room for others")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return wire.NewFrontendClient(pool).FrontendMessage(ctx, m.Task, m.Status, m.Body)
}

func (l *Listeners) poolOf(app string) *client.Pool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.apps[app]; a != nil {
		return a.pool
	}
	return nil
}

// Stats counts messages.
func (l *Listeners) Stats() relay.Stats { return l.relay.Stats() }

// Close delivers what waits, for two seconds at most, ends all deliveries and waits for them.
func (l *Listeners) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	enough, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	l.relay.Drain(enough)
	l.relay.Close()
	if n := l.relay.Stats().Waiting; n > 0 && !again {
		l.log.Warn("messages to applications were not delivered before the frontend stopped; they are not sent again", "messages", n)
	}
	l.mu.Lock()
	for _, a := range l.apps {
		l.end(a.pool)
	}
	l.mu.Unlock()
	l.ending.Wait()
	return nil
}
