package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// batch is how many jobs are inserted by one statement.
const batch = 1000

// fetchCooldown is the least time between two reads of the queue: River's default of 100 ms
// would bound 64 slots to 640 jobs a second.
const fetchCooldown = 5 * time.Millisecond

// program is a River job.
type program struct {
	Argv []string `json:"argv"`
}

// Kind implements [river.JobArgs].
func (program) Kind() string { return programTask }

// worker starts programs.
type worker struct {
	river.WorkerDefaults[program]
}

// Work implements [river.Worker].
func (worker) Work(ctx context.Context, job *river.Job[program]) error {
	return start(ctx, job.Args.Argv)
}

// Timeout implements [river.Worker]: programs run as long as they need.
func (worker) Timeout(*river.Job[program]) time.Duration { return -1 }

// riverQueue is a client of River with its workers, in this process.
type riverQueue struct {
	slots  int
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	ended  <-chan *river.Event
	cancel func()
}

func startRiver(ctx context.Context, folder string, slots int) (queue, error) {
	pool, err := pgxpool.New(ctx, fmt.Sprintf("host=%s user=postgres dbname=postgres", folder))
	if err != nil {
		return nil, fmt.Errorf("river: %w", err)
	}
	q := &riverQueue{slots: slots, pool: pool}
	if err := q.start(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("river: %w", err)
	}
	return q, nil
}

func (q *riverQueue) start(ctx context.Context) error {
	driver := riverpgxv5.New(q.pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, worker{})
	q.client, err = river.NewClient(driver, &river.Config{
		Logger:        slog.New(slog.DiscardHandler),
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: q.slots, FetchCooldown: fetchCooldown}},
		FetchCooldown: fetchCooldown, MaxAttempts: 1,
		Workers: workers,
	})
	if err != nil {
		return err
	}
	// Room for the events of a set that come while this process has no processor.
	q.ended, q.cancel = q.client.SubscribeConfig(&river.SubscribeConfig{
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled},
		ChanSize: 100 * batch,
	})
	return q.client.Start(context.WithoutCancel(ctx)) // until close
}

func (q *riverQueue) configuration() string {
	return fmt.Sprintf("river.Config{MaxWorkers: %d, FetchCooldown: %v, MaxAttempts: 1}; InsertMany of %d jobs at a time; the workers run while they are inserted", q.slots, fetchCooldown, batch)
}

func (q *riverQueue) run(ctx context.Context, programs [][]string) error {
	for first := 0; first < len(programs); first += batch {
		var jobs []river.InsertManyParams
		for _, p := range programs[first:min(first+batch, len(programs))] {
			jobs = append(jobs, river.InsertManyParams{Args: program{p}})
		}
		if _, err := q.client.InsertManyFast(ctx, jobs); err != nil {
			return fmt.Errorf("river inserted %d of %d jobs: %w", first, len(programs), err)
		}
	}
	var failed error
	for range programs {
		select {
		case e := <-q.ended:
			if failed == nil && e.Job.State != rivertype.JobStateCompleted {
				failed = fmt.Errorf("river: job %d, %q, is %s: %v", e.Job.ID, e.Job.EncodedArgs, e.Job.State, e.Job.Errors)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return failed
}

func (q *riverQueue) close(ctx context.Context) error {
	q.cancel()
	err := q.client.StopAndCancel(ctx)
	q.pool.Close()
	return err
}
