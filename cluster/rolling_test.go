package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// rolling is a load of jobs during restarts: each exec task makes a file that its attempt
// names when it starts, so that starts are counted where they happen.
type rolling struct {
	t   *testing.T
	dir string
	all sync.WaitGroup

	mu   sync.Mutex
	jobs []rolled
}

// rolled is a job that has ended.
type rolled struct {
	key    string
	status api.Status
}

// submit submits a job of exec and one of sleep tasks to a frontend, again and again until
// it is accepted, and awaits their ends.
func (r *rolling) submit(s *wire.SchedulerClient, key string, tasks int, length time.Duration) {
	for _, backend := range []api.Backend{api.BackendExec, api.BackendSleep} {
		request := &api.Request{Backend: backend, Key: key + "-" + string(backend), Tasks: make([]api.Task, tasks)}
		for i := range request.Tasks {
			p := api.Payload{Backend: backend, Sleep: length}
			if backend == api.BackendExec {
				script := fmt.Sprintf(`: > %s/%s.%d.$PIGEON_ATTEMPT; sleep %.3f`, r.dir, key, i, length.Seconds())
				p = api.Payload{Backend: backend, Exec: &api.Exec{Argv: []string{"sh", "-c", script}}}
			}
			request.Tasks[i].Payload = p
		}
		r.all.Go(func() {
			ctx, cancel := context.WithTimeout(r.t.Context(), await.Limit)
			defer cancel()
			status, err := r.end(ctx, s, request)
			if err != nil {
				r.t.Errorf("job %s: %v", request.Key, err)
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.jobs = append(r.jobs, rolled{request.Key, status})
		})
	}
}

// end submits the job and waits for its end; calls that fail are repeated.
func (r *rolling) end(ctx context.Context, s *wire.SchedulerClient, request *api.Request) (api.Status, error) {
	for {
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		id, _, err := s.Submit(call, request)
		cancel()
		for err == nil {
			var status api.Status
			if status, err = s.Wait(ctx, id, 10*time.Second); err == nil && status.State.Ended() {
				return status, nil
			}
		}
		if ctx.Err() != nil {
			return api.Status{}, err
		}
		time.Sleep(20 * time.Millisecond) // the frontend is being restarted
	}
}

// starts returns the tasks that did not start exactly once.
func (r *rolling) starts(tasks int) (wrong []string) {
	for _, j := range r.jobs {
		key, exec := strings.CutSuffix(j.key, "-"+string(api.BackendExec))
		for i := 0; exec && i < tasks; i++ {
			found, err := filepath.Glob(filepath.Join(r.dir, fmt.Sprintf("%s.%d.*", key, i)))
			if err != nil || len(found) != 1 {
				wrong = append(wrong, fmt.Sprint(found, err))
			}
		}
	}
	return wrong
}

// Every master and every frontend is stopped in order and started again, one after another,
// while jobs of processes and sleeps run and wait: no job fails, and every program starts
// exactly once. Without JetStream, each group has one master. The log compares the time of
// each step with that of the same load without a restart.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	const tasks, length = 16, 200 * time.Millisecond
	for _, c := range []struct {
		policy string
		groups []int
	}{{"pigeon", []int{2, 2}}, {"fifo", []int{4}}, {"sparrow", []int{4}}} {
		t.Run(c.policy, func(t *testing.T) {
			if testing.Short() && c.policy != "pigeon" {
				t.Skip("real processes under another policy")
			}
			cl := start(t, cluster.Spec{Groups: c.groups, Slots: 4, Frontends: 2, Policy: c.policy, Isolation: cluster.Process})
			r := &rolling{t: t, dir: t.TempDir()}
			var clients []*wire.SchedulerClient
			for _, address := range cl.Frontends() {
				clients = append(clients, scheduler(t, address))
			}
			step := func(name string, restart func()) {
				began := time.Now()
				for _, when := range []string{"before-", "during-"} {
					for i, s := range clients {
						r.submit(s, fmt.Sprintf("%s%s-%d", when, name, i), tasks, length)
					}
					if when == "before-" {
						awaitStarted(t, r.dir, when+name)
						restart()
					}
				}
				r.all.Wait()
				t.Logf("%-12s all jobs have ended after %.2f s", name, time.Since(began).Seconds())
			}
			step("quiet", func() {})
			for _, role := range []cluster.Role{cluster.Master, cluster.Frontend} {
				for i := range cl.Count(role) {
					step(fmt.Sprintf("%s-%d", role, i), func() {
						if err := cl.Terminate(role, i); err != nil {
							t.Fatal(err)
						}
						await.Until(t, "the daemon has ended", func() bool { return cl.Pid(role, i) == 0 }, func() string { return fmt.Sprint(role, i) })
						if err := cl.Restart(role, i); err != nil {
							t.Fatal(err)
						}
					})
				}
			}
			numbers := 0
			for _, j := range r.jobs {
				if j.status.State != api.StateCompleted || j.status.Failed != 0 {
					t.Errorf("job %s ended as %+v", j.key, j.status)
				}
				numbers += j.status.Attempts - tasks
			}
			if wrong := r.starts(tasks); len(wrong) > 0 {
				t.Errorf("%d programs of %d did not start exactly once: %v", len(wrong), len(r.jobs)/2*tasks, wrong[:min(5, len(wrong))])
			}
			t.Logf("%d jobs; %d waiting tasks received a new number", len(r.jobs), numbers)
		})
	}
}

// awaitStarted waits until a program of the jobs of a step has started.
func awaitStarted(t *testing.T, dir, step string) {
	t.Helper()
	await.Until(t, "a program of "+step+" starts", func() bool {
		found, err := filepath.Glob(filepath.Join(dir, step+"*"))
		return err == nil && len(found) > 0
	}, func() string {
		all, err := os.ReadDir(dir)
		return fmt.Sprint(len(all), " have started ", err)
	})
}
