package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

const (
	programTask = "program" // the type of tasks
	asynqName   = "default" // their queue, asynq's own default
)

// checkEvery is how often a server looks into an empty queue. asynq's default of 1 s would be the
// greatest part of a set of short tasks.
const checkEvery = 50 * time.Millisecond

// asynqQueue is a client and a server of asynq in this process.
type asynqQueue struct {
	slots     int
	client    *asynq.Client
	inspector *asynq.Inspector
	server    *asynq.Server

	mu     sync.Mutex
	failed error // the first of the set
}

func startAsynq(_ context.Context, socket string, slots int) (queue, error) {
	redis := asynq.RedisClientOpt{Network: "unix", Addr: socket}
	q := &asynqQueue{slots: slots, client: asynq.NewClient(redis), inspector: asynq.NewInspector(redis)}
	q.server = asynq.NewServer(redis, asynq.Config{Concurrency: slots, TaskCheckInterval: checkEvery, LogLevel: asynq.ErrorLevel})
	// A task that was tried is not tried again: its failure is kept.
	if err := q.server.Start(asynq.HandlerFunc(q.handle)); err != nil {
		return nil, fmt.Errorf("asynq: %w", err)
	}
	return q, nil
}

func (q *asynqQueue) configuration() string {
	return fmt.Sprintf("asynq.Config{Concurrency: %d, TaskCheckInterval: %v}; each program is enqueued by itself, over %d connections, with MaxRetry(0); the server runs while they are enqueued", q.slots, checkEvery, enqueuers)
}

func (q *asynqQueue) handle(ctx context.Context, t *asynq.Task) error {
	var program []string
	err := json.Unmarshal(t.Payload(), &program)
	if err == nil {
		err = start(ctx, program)
	}
	if err != nil {
		q.mu.Lock()
		if q.failed == nil {
			q.failed = err
		}
		q.mu.Unlock()
	}
	return nil
}

// enqueuers are the connections over which tasks are enqueued at a time.
const enqueuers = 4

func (q *asynqQueue) run(ctx context.Context, programs [][]string) error {
	q.mu.Lock()
	q.failed = nil
	q.mu.Unlock()
	before, err := q.processed()
	if err != nil {
		return err
	}
	faults := make(chan error, enqueuers)
	for k := range enqueuers {
		go func() { faults <- q.enqueue(ctx, programs, k) }()
	}
	for range enqueuers {
		if fault := <-faults; err == nil {
			err = fault
		}
	}
	if err != nil {
		return err
	}
	if err := q.awaitProcessed(ctx, before+len(programs)); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

// awaitProcessed waits until the given number of tasks have ended. asynq has no event for
// the end of a task; its counters in Redis show it.
func (q *asynqQueue) awaitProcessed(ctx context.Context, wanted int) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if n, err := q.processed(); err != nil || n >= wanted {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// enqueue enqueues each enqueuers-th program, from the k-th on.
func (q *asynqQueue) enqueue(ctx context.Context, programs [][]string, k int) error {
	for i := k; i < len(programs); i += enqueuers {
		payload, err := json.Marshal(programs[i])
		if err != nil {
			return err
		}
		if _, err := q.client.EnqueueContext(ctx, asynq.NewTask(programTask, payload), asynq.Queue(asynqName), asynq.MaxRetry(0)); err != nil {
			return fmt.Errorf("asynq enqueued %d of every %d programs: %w", i/enqueuers, enqueuers, err)
		}
	}
	return nil
}

// processed is how many tasks have ended since the queue was made.
func (q *asynqQueue) processed() (int, error) {
	info, err := q.inspector.GetQueueInfo(asynqName)
	if err != nil {
		if names, listed := q.inspector.Queues(); listed == nil && len(names) == 0 {
			return 0, nil // before the first task there is no queue
		}
		return 0, fmt.Errorf("asynq: %w", err)
	}
	return info.ProcessedTotal, nil
}

func (q *asynqQueue) close(context.Context) error {
	q.server.Shutdown()
	err := q.inspector.Close()
	if closed := q.client.Close(); err == nil {
		err = closed
	}
	return err
}
