package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/cluster/clustertest"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

func start(t *testing.T, s cluster.Spec) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func scheduler(t *testing.T, address string) *wire.SchedulerClient {
	t.Helper()
	pool, err := client.New(client.Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return wire.NewSchedulerClient(pool)
}

// submit runs one job of four tasks to its end.
func submit(t *testing.T, address, key string) api.Status {
	t.Helper()
	s := scheduler(t, address)
	tasks := make([]api.Task, 4)
	for i := range tasks {
		tasks[i].Payload = api.Payload{Backend: api.BackendSleep, Sleep: time.Millisecond}
	}
	id, _, err := s.Submit(t.Context(), &api.Request{Backend: api.BackendSleep, Key: key, Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	got, err := s.Wait(ctx, id, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestBothIsolations: a started cluster has all its nodes and runs jobs at once,
// and nothing is left of it.
func TestBothIsolations(t *testing.T) {
	t.Parallel()
	for _, isolation := range []cluster.Isolation{cluster.Goroutine, cluster.Process} {
		t.Run(string(isolation), func(t *testing.T) {
			c := start(t, cluster.Spec{Groups: []int{2, 1}, Slots: 2, Frontends: 2, Isolation: isolation, History: true, HTTP: true})
			if len(c.Frontends()) != 2 || len(c.Histories()) != 2 || len(c.Web()) != 2 || c.Web()[1] == "" || !strings.HasPrefix(c.NATS(), "nats://") {
				t.Errorf("%v %v %v %v", c.Frontends(), c.Histories(), c.Web(), c.NATS())
			}
			groups, err := scheduler(t, c.Frontends()[1]).Nodes(t.Context())
			if err != nil || len(groups) != 2 || len(groups[0].Nodes) != 2 || groups[0].Workers != 4 || groups[1].Workers != 2 {
				t.Errorf("groups %+v, %v", groups, err)
			}
			for i, address := range c.Frontends() {
				if s := submit(t, address, "one"); s.State != api.StateCompleted || s.Completed != 4 {
					t.Errorf("frontend %d: %+v", i, s)
				}
			}
			if n, err := c.Messages(t.Context()); err != nil || n < 2*4*4 { // Tasks, Launch, Idle and Report of each task
				t.Errorf("%d messages, %v", n, err)
			}
			if u, err := c.Usage(); err != nil || u.CPU <= 0 || u.RSSMax < 1<<20 || u.Shared != (isolation == cluster.Goroutine) {
				t.Errorf("usage %+v, %v", u, err)
			}
			dir := c.Dir()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder %s is left: %v", dir, err)
			}
		})
	}
}

// TestWithoutNATS: the notices travel by Thrift, and jobs run as with a server.
func TestWithoutNATS(t *testing.T) {
	t.Parallel()
	for _, isolation := range []cluster.Isolation{cluster.Goroutine, cluster.Process} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			c := start(t, cluster.Spec{Groups: []int{2}, Isolation: isolation, WithoutNATS: true})
			if c.NATS() != "" {
				t.Errorf("there is a NATS server at %s", c.NATS())
			}
			if s := submit(t, c.Frontends()[0], "one"); s.State != api.StateCompleted || s.Completed != 4 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestKilledFrontendResumes: jobs that a killed frontend had accepted are done
// after its restart.
func TestKilledFrontendResumes(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{1}, Isolation: cluster.Process})
	at := c.Frontends()[0]
	s := scheduler(t, at)
	task := api.Task{Payload: api.Payload{Backend: api.BackendSleep, Sleep: 300 * time.Millisecond}}
	if _, _, err := s.Submit(t.Context(), &api.Request{Backend: api.BackendSleep, Key: "k", Tasks: []api.Task{task}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(cluster.Frontend, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(cluster.Frontend, 0); err == nil {
		t.Error("it was killed twice")
	}
	if err := c.Restart(cluster.Frontend, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(cluster.Frontend, 0); err == nil {
		t.Error("it was started twice")
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		got, err := s.Wait(t.Context(), "k", time.Second)
		if err == nil && got.State == api.StateCompleted {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v %v", got, err)
		}
	}
}

// TestPausedDaemonContinues: a frontend that is paused answers no request, and answers
// again when it
// is resumed.
func TestPausedDaemonContinues(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{1}, Isolation: cluster.Process, HTTP: true})
	ready := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.HTTP(cluster.Frontend, 0)+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Close = true
		answer, err := http.DefaultClient.Do(q)
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	if err := c.Pause(cluster.Frontend, 0); err != nil {
		t.Fatal(err)
	}
	// A signal takes effect when each thread has noticed it.
	await.Until(t, "the paused frontend does not answer", func() bool { return ready() != nil })
	if err := c.Resume(cluster.Frontend, 0); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the frontend answers again", func() bool { return ready() == nil }, func() string { return fmt.Sprint(ready()) })
	if c.Pause(cluster.Master, 1) == nil || c.HTTP(cluster.Master, 1) != "" {
		t.Error("there is a second master")
	}
}

// TestClientOfACluster: a client is a separate process that ends by itself.
func TestClientOfACluster(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{1}, Isolation: cluster.Process})
	p, err := c.StartClient(childproc.Command{Name: "client", Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

// TestUnexpectedEndIsReported: a daemon that ends by itself is reported with its log.
func TestUnexpectedEndIsReported(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{1}, Isolation: cluster.Process, Dir: t.TempDir()})
	// Behind the cluster's back: the process whose configuration is the master's.
	pid := pidOf(t, filepath.Join(c.Dir(), "config", "master-0.yaml"))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-c.Failed(); !strings.Contains(err.Error(), "master-0") || !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
}

func pidOf(t *testing.T, argument string) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), argument) {
			continue
		}
		pid := 0
		for _, digit := range filepath.Base(filepath.Dir(path)) {
			pid = 10*pid + int(digit-'0')
		}
		return pid
	}
	t.Fatalf("no process has %s", argument)
	return 0
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		spec cluster.Spec
		want string
	}{
		{cluster.Spec{}, "groups"},
		{cluster.Spec{Groups: []int{3, 0}}, "group 1"},
		{cluster.Spec{Groups: []int{1}, Frontends: -1}, "frontends"},
		{cluster.Spec{Groups: []int{1}, Isolation: "none"}, "isolation"},
		{cluster.Spec{Groups: []int{1}, Policy: "nonesuch"}, "nonesuch"},
		{cluster.Spec{Groups: []int{1}, Dir: "/dev/null/x"}, "/dev/null"},
		{cluster.Spec{Groups: []int{1}, Isolation: cluster.Process, Policy: "nonesuch"}, "nonesuch"},
		{cluster.Spec{Groups: []int{1}, Configure: func(c any) {
			if f, ok := c.(*frontend.Config); ok {
				f.Listen = "127.0.0.1:99999"
			}
		}}, "99999"},
	} {
		got, err := cluster.Start(t.Context(), c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.spec, err)
		}
		if got != nil {
			_ = got.Close()
		}
	}
	c := start(t, cluster.Spec{Groups: []int{1}})
	if c.Kill(cluster.Master, 0) == nil || c.Restart(cluster.Master, 0) == nil || c.Pause(cluster.Master, 0) == nil {
		t.Error("a goroutine was killed")
	}
	if _, err := c.StartClient(childproc.Command{Argv: []string{"true"}}); err == nil {
		t.Error("a cluster without processes started one")
	}
}

// TestStartIsBounded: a cluster that does not become ready is taken down again.
func TestStartIsBounded(t *testing.T) {
	_, err := cluster.Start(t.Context(), cluster.Spec{Groups: []int{1}, StartTimeout: time.Nanosecond})
	if err == nil || !strings.Contains(err.Error(), "not ready within") {
		t.Error(err)
	}
	_, err = cluster.Start(t.Context(), cluster.Spec{Groups: []int{1}, Isolation: cluster.Process, Command: []string{"sleep", "60"}, StartTimeout: 100 * time.Millisecond})
	if err == nil {
		t.Error("sleeping processes became ready")
	}
}
