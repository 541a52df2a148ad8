package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	// watchersPerFrontend long-poll, each on its connection.
	watchersPerFrontend = 4
	// submitters bounds the submissions in progress at one frontend.
	submitters = 64
	// submitTimeout bounds one try.
	submitTimeout = 10 * time.Second
	// maxReplays is how often one workload can be replayed on one cluster within
	// the time that its frontends keep ended jobs.
	maxReplays = 100
)

// target is the connections to one frontend and the jobs submitted there.
type target struct {
	address string
	submits *wire.SchedulerClient
	waits   *wire.SchedulerClient
	pools   []*client.Pool
	queue   queue // of submitted jobs that have not ended
}

func (r *replay) connect(addresses []string) error {
	for _, address := range addresses {
		t := &target{address: address}
		r.targets = append(r.targets, t)
		for _, o := range []client.Options{
			{MaxConns: submitters, CallTimeout: submitTimeout}, {MaxConns: watchersPerFrontend},
		} {
			o.Name, o.Address, o.BackoffMax = "frontend", address, 200*time.Millisecond
			pool, err := client.New(o)
			if err != nil {
				return fmt.Errorf("the frontend %q cannot be reached: %w; nothing was submitted; use host:port", address, err)
			}
			t.pools = append(t.pools, pool)
		}
		t.submits, t.waits = wire.NewSchedulerClient(t.pools[0]), wire.NewSchedulerClient(t.pools[1])
	}
	return nil
}

// disconnect closes the connections.
func (r *replay) disconnect() {
	for _, t := range r.targets {
		for _, p := range t.pools {
			_ = p.Close() // it only closes connections
		}
	}
}

// target returns the frontend of a job.
func (r *replay) target(job int) *target {
	return r.targets[r.work.Jobs[job].Line%len(r.targets)]
}

// key is the job's line number. Leading zeros, which change no draw, make it
// differ from the same job of an earlier replay.
func (r *replay) key(job int) string { return r.pad + strconv.Itoa(r.work.Jobs[job].Line) }

// findFreshKeys chooses keys that the cluster does not know from earlier replays. It
// fails when a frontend does not answer.
func (r *replay) findFreshKeys(ctx context.Context) error {
	for _, t := range r.targets {
		if err := t.submits.Ping(ctx); err != nil {
			return fmt.Errorf("the frontend %s does not answer: %w; nothing was submitted", t.address, err)
		}
	}
	for range maxReplays {
		_, err := r.target(0).submits.Status(ctx, r.key(0))
		var refusal *api.Error
		switch {
		case errors.As(err, &refusal) && refusal.Problem == api.NotFound:
			return nil
		case err != nil:
			return fmt.Errorf("the frontend %s does not answer: %w; nothing was submitted", r.target(0).address, err)
		}
		r.pad += "0"
	}
	return fmt.Errorf("%s was replayed %d times on this cluster, which still knows the jobs; nothing was submitted; restart the cluster", r.work.Name, maxReplays)
}

// GroupsOf requests the number of workers of each group from a frontend.
func GroupsOf(ctx context.Context, address string) ([]int, error) {
	pool, err := client.New(client.Options{Name: "frontend", Address: address})
	if err != nil {
		return nil, fmt.Errorf("the frontend %q cannot be reached: %w; nothing was submitted; use host:port", address, err)
	}
	defer pool.Close() //nolint:errcheck // it only closes connections
	groups, err := wire.NewSchedulerClient(pool).Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("the frontend %s does not answer: %w; nothing was submitted", address, err)
	}
	var sizes []int
	for g := range groups {
		if groups[g].Workers == 0 {
			return nil, fmt.Errorf("group %d of the cluster has no worker, or its master does not answer; nothing was submitted; start its nodes", g)
		}
		sizes = append(sizes, groups[g].Workers)
	}
	return sizes, nil
}
