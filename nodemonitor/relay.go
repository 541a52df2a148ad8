package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of the relay beside Config.MaxMessages.
const (
	maxRelayBytes = 64 << 20  // of messages that wait for one frontend
	maxRelays     = 1024      // frontends with waiting messages
	relayPatience = time.Hour // after which a frontend that does not come back is given up
)

// relay hands messages of backends to the frontends of their tasks, which hand
// them to the applications.
//
//	backend ──▶ queue of the frontend (bounded) ──one call at a time──▶ frontend
//
// For one frontend they go in order. A message whose call was never written is
// tried again until the frontend is back. One that may have arrived is not: an
// application that counts messages would rather miss one than count it twice,
// and after a loss its task is tried again, while nothing takes back a count.
type relay struct {
	log   *slog.Logger
	limit int
	fates []prometheus.Counter
	ctx   context.Context // ends the deliveries
	busy  sync.WaitGroup  // their goroutines, one for each queue that is not empty

	mu     sync.Mutex
	closed bool
	queues map[string]*relayQueue // by address; none is empty
}

type relayQueue struct {
	address  string
	messages []relayed
	bytes    int
}

type relayed struct {
	app     string
	task    wire.TaskRef
	status  int32
	message []byte
}

var _ wire.MessageRelay = (*relay)(nil)

func newRelay(ctx context.Context, log *slog.Logger, limit int, fates []prometheus.Counter) *relay {
	return &relay{ctx: ctx, log: log, limit: limit, fates: fates, queues: map[string]*relayQueue{}}
}

// FrontendMessage queues a message for the task's frontend.
func (r *relay) FrontendMessage(_ context.Context, app string, task wire.TaskRef, status int32, message []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[task.Scheduler]
	if what, next := r.objection(q, task, len(message)); what != "" {
		r.fates[messageRefused].Inc()
		return &api.Error{
			Problem: api.Busy, What: what, Subject: fmt.Sprintf("message about task %q of job %q of application %q", task.Task, task.Job, app),
			Tried: "relaying it to the frontend " + task.Scheduler, Next: next,
		}
	}
	if q == nil {
		q = &relayQueue{address: task.Scheduler}
		r.queues[q.address] = q
		r.busy.Go(func() { r.deliver(q) })
	}
	q.messages = append(q.messages, relayed{app, task, status, message})
	q.bytes += len(message)
	return nil
}

// objection returns why a message cannot wait, and what to do. It needs the lock.
func (r *relay) objection(q *relayQueue, task wire.TaskRef, size int) (what, next string) {
	switch {
	case r.closed:
		return "the node monitor is stopping", "send it to the node monitor that comes after it"
	case task.Scheduler == "":
		return "the task names no frontend", "send the task's id as it came with the launch, with its schedulerAddress"
	case q == nil && len(r.queues) >= maxRelays:
		return fmt.Sprintf("messages wait for %d frontends already, the limit", maxRelays), "try again when those frontends are back"
	case q != nil && len(q.messages) >= r.limit:
		return fmt.Sprintf("%d messages wait for this frontend already, the limit (max_messages)", r.limit), "try again when the frontend is back"
	case q != nil && q.bytes+size > maxRelayBytes:
		return fmt.Sprintf("%d bytes of messages wait for this frontend already, the limit is %d", q.bytes, maxRelayBytes), "try again when the frontend is back"
	}
	return "", ""
}

// deliver sends the messages of a queue until it is empty.
func (r *relay) deliver(q *relayQueue) {
	pool, err := client.New(client.Options{Name: "frontend", Address: q.address, MaxConns: 1, MaxFrame: 4 << 20})
	if err != nil {
		r.giveUp(q, err)
		return
	}
	defer func() { _ = pool.Close() }() // nothing is under way then
	frontend := wire.NewSchedulerClient(pool)
	for m, more := r.first(q); more; m, more = r.next(q) {
		if err := r.send(frontend, m); err != nil {
			r.giveUp(q, err)
			return
		}
	}
}

// send delivers one message; an error says that the frontend is given up.
func (r *relay) send(frontend *wire.SchedulerClient, m relayed) error {
	began := time.Now()
	for failures := 1; ; failures++ {
		err := frontend.FrontendMessage(r.ctx, m.app, m.task, m.status, m.message)
		var unanswered *client.CallError
		switch {
		case err == nil:
			r.fates[messageDelivered].Inc()
			return nil
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case !errors.As(err, &unanswered) || unanswered.Sent:
			r.fates[messageDropped].Inc()
			r.log.Warn("a backend's message was not delivered to its application, or may not have been; it is not sent again",
				"application", m.app, "task", m.task.Task, "job", m.task.Job, "frontend", m.task.Scheduler, "error", err)
			return nil
		case time.Since(began) > relayPatience:
			return err
		}
		if !pause(r.ctx, time.Duration(backoff(failures))) {
			return r.ctx.Err()
		}
	}
}

// first returns the message at the head of the queue.
func (r *relay) first(q *relayQueue) (relayed, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return q.messages[0], true
}

// next takes the head off and gives the one behind it; false when there is none,
// and the queue is gone.
func (r *relay) next(q *relayQueue) (relayed, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.bytes -= len(q.messages[0].message)
	q.messages[0] = relayed{}
	q.messages = q.messages[1:]
	if len(q.messages) == 0 {
		delete(r.queues, q.address)
		return relayed{}, false
	}
	return q.messages[0], true
}

// giveUp drops a queue.
func (r *relay) giveUp(q *relayQueue, err error) {
	r.mu.Lock()
	delete(r.queues, q.address)
	n := len(q.messages)
	r.mu.Unlock()
	r.fates[messageDropped].Add(float64(n))
	if n > 0 {
		r.log.Warn("messages of backends were dropped: their frontend did not take them", "frontend", q.address, "messages", n, "error", err)
	}
}

// drain refuses what comes and waits until no message waits, or ctx ends.
func (r *relay) drain(ctx context.Context) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	empty := make(chan struct{})
	go func() { r.busy.Wait(); close(empty) }() // ends with the deliveries, for which close waits
	select {
	case <-empty:
	case <-ctx.Done():
	}
}

// close waits for the deliveries, whose context has ended.
func (r *relay) close() { r.busy.Wait() }
