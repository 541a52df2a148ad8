package application_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/cluster/clustertest"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/apptest"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestMain makes the test binary every process of a cluster, and its executors.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == apptest.Verb {
		os.Exit(apptest.Main(os.Args[1:]))
	}
	clustertest.Main(m)
}

// rig is a cluster of processes, two nodes with two slots each, two frontends, and
// an application with an executor on each node, at work.
type rig struct {
	*cluster.Cluster
	driver *apptest.Driver
	t      *testing.T
}

const pieces = 400

func newRig(t *testing.T) *rig {
	t.Helper()
	c, err := cluster.Start(t.Context(), cluster.Spec{
		Groups: []int{2}, Slots: 2, Frontends: 2, Isolation: cluster.Process, NoSync: true, Log: daemontest.Log(t), Configure: func(c any) {
			switch c := c.(type) {
			case *nodemonitor.Config:
				c.Memory, c.ApplicationLease = 100, 20*time.Second
			case *frontend.Config:
				c.ApplicationLease = 10 * time.Second
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := apptest.Start(apptest.Spec{ID: "app", Frontends: c.Frontends(), Executors: 2, Slots: 2, Memory: 60})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(false) }) // twice is once
	r := &rig{c, d, t}
	r.await("two executors run", func() bool { return len(d.Running()) == 2 && len(d.Pids()) == 2 })
	d.Add("stage", "short", pieces, 20*time.Millisecond)
	r.await("it is under way", func() bool { return d.Ended("stage") > 10 })
	return r
}

// finish waits for the work, ends the application and sees that nothing is left.
func (r *rig) finish() {
	r.t.Helper()
	r.await("all work is done", func() bool { return r.driver.Ended("stage") >= pieces })
	if n := r.driver.Ended("stage"); n != pieces {
		r.t.Errorf("%d pieces of work ended, of %d", n, pieces)
	}
	r.await("two executors run", func() bool { return len(r.driver.Running()) == 2 && len(r.driver.Pids()) == 2 })
	last := r.driver.Pids()
	if err := r.driver.Close(true); err != nil {
		r.t.Error(err)
	}
	r.awaitEnd(last)
	r.await("every slot is free", func() bool {
		s, ok := r.state()
		return ok && s.BusyGeneral+s.BusyReserved+s.QueuedShort+s.QueuedLong == 0 && s.Workers == 4
	})
	r.await("no folder is left", func() bool {
		folders, err := filepath.Glob(filepath.Join(r.Dir(), "work", "*", "applications", "*"))
		return err == nil && len(folders) == 0
	})
}

func (r *rig) await(what string, holds func() bool) {
	r.t.Helper()
	await.Until(r.t, what, holds, func() string {
		return fmt.Sprintf("%d pieces have ended, executors %+v, the last refusal %v, notes %v",
			r.driver.Ended("stage"), r.driver.States(), r.driver.Failure(), r.driver.Notes())
	})
}

// state is the group as its master sees it.
func (r *rig) state() (api.MasterState, bool) {
	for _, address := range r.Frontends() {
		pool, err := client.New(client.Options{Address: address, FailFast: true})
		if err != nil {
			r.t.Fatal(err)
		}
		list, err := wire.NewSchedulerClient(pool).Nodes(r.t.Context())
		_ = pool.Close() // it has no error
		if err == nil && len(list) == 1 {
			return list[0], true
		}
	}
	return api.MasterState{}, false
}

func (r *rig) awaitEnd(pids map[string]int) {
	r.t.Helper()
	for id, pid := range pids {
		r.await(fmt.Sprintf("the process of executor %s has ended", id), func() bool { return syscall.Kill(pid, 0) != nil })
	}
}

// pid finds the process of number i of a role by its configuration, which lies in
// the cluster's folder.
func (r *rig) pid(role cluster.Role, i int) int {
	r.t.Helper()
	name := map[cluster.Role]string{
		cluster.NodeMonitor: fmt.Sprintf("node-0-%03d", i), cluster.Frontend: fmt.Sprintf("frontend-%d", i), cluster.Master: fmt.Sprintf("master-%d", i),
	}[role]
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, path := range lines {
		text, _ := os.ReadFile(path) // it may have ended
		words := bytes.Split(text, []byte{0})
		if len(words) > 3 && string(words[1]) == string(role) && strings.HasPrefix(string(words[3]), r.Dir()) && strings.Contains(string(words[3]), name) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				return pid
			}
		}
	}
	r.t.Fatalf("no process of %s %d", role, i)
	return 0
}

// sameExecutors waits for the end of the work and checks that the executors are the
// same as before.
func (r *rig) sameExecutors(before map[string]int) {
	r.t.Helper()
	r.await("all work is done", func() bool { return r.driver.Ended("stage") >= pieces })
	if after := r.driver.Pids(); fmt.Sprint(after) != fmt.Sprint(before) {
		r.t.Errorf("the executors were %v and are %v", before, after)
	}
}

// kill -9 of a node monitor: no executor outlives it, its work is done elsewhere,
// and the node is used again when it is back.
func TestNodeMonitorKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	node := r.driver.States()[0].Node
	i, err := strconv.Atoi(node[len(node)-3:])
	if err != nil {
		t.Fatal(err)
	}
	pid := r.driver.Pids()["1"]
	if err := r.Kill(cluster.NodeMonitor, i); err != nil {
		t.Fatal(err)
	}
	r.awaitEnd(map[string]int{"1": pid})
	if err := r.Restart(cluster.NodeMonitor, i); err != nil {
		t.Fatal(err)
	}
	r.finish()
}

// kill -9 of the frontend that serves the application: the other one takes it over
// with the executors that it has.
func TestFrontendKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.driver.Pids()
	if err := r.Kill(cluster.Frontend, 0); err != nil {
		t.Fatal(err)
	}
	r.sameExecutors(before)
	if err := r.Restart(cluster.Frontend, 0); err != nil {
		t.Fatal(err)
	}
	r.finish()
}

// kill -9 of the master: executors live on, and slots are granted again when it is
// back.
func TestMasterKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.driver.Pids()
	if err := r.Kill(cluster.Master, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(cluster.Master, 0); err != nil {
		t.Fatal(err)
	}
	r.sameExecutors(before)
	r.finish()
}

// kill -9 of both executors while they work.
func TestExecutorsKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, pid := range r.driver.Pids() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	r.finish()
}

// Each kind of process is stopped for 5 s.
func TestPausedProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("stops four processes for 5 s each; runs without -short")
	}
	for _, role := range []cluster.Role{cluster.NodeMonitor, cluster.Frontend, cluster.Master} {
		t.Run(string(role), func(t *testing.T) {
			r := newRig(t)
			r.pause(r.pid(role, 0))
			r.finish()
		})
	}
	t.Run("executor", func(t *testing.T) {
		r := newRig(t)
		r.pause(r.driver.Pids()["1"])
		r.finish()
	})
}

// pause stops a process for 5 s; the sleep is the fault itself.
func (r *rig) pause(pid int) {
	r.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		r.t.Fatal(err)
	}
}
