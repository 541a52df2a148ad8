package frontend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// relayPause is how long the relay waits before it looks again for an application
// that cannot be reached.
const relayPause = 100 * time.Millisecond

// run makes the calls to one application.
func (r *relay) run(q *appQueue) {
	defer func() { _ = r.poolOf(q).Close() }() // it has no error
	unreachable := false
	for {
		m, pool, ok := r.head(q)
		if !ok {
			select {
			case <-q.wake:
				continue
			case <-q.ctx.Done():
				return
			}
		}
		err := call(q.ctx, pool, &m)
		switch {
		case q.ctx.Err() != nil:
			return
		case err == nil:
			unreachable = false
			r.settle(q, true)
		case wasSent(err):
			r.log.Warn("an application did not answer a message; it is not sent again", "application", q.app, "job", m.task.Job, "task", m.task.Task, "error", err)
			r.settle(q, false)
		case time.Since(m.since) >= r.patient:
			r.settle(q, false)
		default:
			if !unreachable {
				r.log.Warn("an application cannot be reached; its messages wait", "application", q.app, "at most", r.patient, "error", err)
			}
			unreachable = true
			q.pause()
		}
	}
}

// head returns the message to deliver next, and the way to its application.
func (r *relay) head(q *appQueue) (m appMessage, to *client.Pool, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		return m, nil, false
	}
	return q.waiting[0], q.pool, true
}

func (r *relay) poolOf(q *appQueue) *client.Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return q.pool
}

// settle takes the first message off the queue.
func (r *relay) settle(q *appQueue, delivered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes -= q.waiting[0].size()
	r.count.waiting--
	q.waiting[0] = appMessage{}
	q.waiting = q.waiting[1:]
	if delivered {
		r.count.delivered++
	} else {
		r.count.lost++
	}
}

// pause waits a moment, or until the application has registered elsewhere.
func (q *appQueue) pause() {
	t := time.NewTimer(relayPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-q.wake:
	case <-q.ctx.Done():
	}
}

func call(ctx context.Context, pool *client.Pool, m *appMessage) error {
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	return wire.NewFrontendClient(pool).FrontendMessage(ctx, m.task, m.status, m.body)
}

// wasSent reports whether the application may have got the message: it must not come
// twice.
func wasSent(err error) bool {
	var failed *client.CallError
	return !errors.As(err, &failed) || failed.Sent
}

// RegisterFrontend returns where an application listens; the answer means that a
// restarted frontend will know it too.
func (f *Frontend) RegisterFrontend(ctx context.Context, app, address string) error {
	if app == "" || len(app) > api.MaxKeyBytes {
		return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("its name is empty or longer than %d bytes", api.MaxKeyBytes), Subject: fmt.Sprintf("application at %s", address), Next: "give it a name"}
	}
	forgotten, err := f.relay.register(app, address)
	if err != nil {
		return err
	}
	records := []journal.Record{{Kind: journal.AppAt, App: app, Socket: address}}
	if forgotten != "" {
		records = append(records, journal.Record{Kind: journal.AppAt, App: forgotten})
	}
	done := make(chan error, 1)
	if err := f.journal.Append(records, func(err error) { done <- err }); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return &api.Error{Problem: api.NotReady, What: "the answer did not come in time", Subject: fmt.Sprintf("application %q", app), Tried: "registering it", Next: "register it again"}
	}
}

// FrontendMessage passes on what a backend says to its application.
func (f *Frontend) FrontendMessage(_ context.Context, app string, task wire.TaskRef, status int32, message []byte) error {
	return f.relay.say(app, appMessage{task: task, status: status, body: message})
}
