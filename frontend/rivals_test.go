package frontend_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// rivals are the policies with one master, with parameters that fit a small world.
var rivals = []string{"sparrow", "sparrow:cancel=yes", "peacock:interval=50ms", "hawk", "eagle", "kairos:cores=2,q=2,quantum=50ms", "fifo", "priority"}

// cluster is a world of one master, two nodes and two frontends under a policy, all
// of them the real ones.
type cluster struct {
	*world
	spec   string
	master *masterOf
	nodes  []*nodeOf
	fronts []*frontOf
}

func newCluster(t *testing.T, spec string) *cluster {
	t.Helper()
	c := &cluster{world: newWorld(t), spec: spec}
	c.master = c.world.master(func(m *master.Config) { m.Policy = spec })
	for range 2 {
		c.addNode()
	}
	for i := range 2 {
		folder := t.TempDir()
		var f *frontOf
		t.Cleanup(func() { verify(t, f.cfg) }) // after the frontend's own
		f = c.frontend(func(cfg *frontend.Config) {
			cfg.ID, cfg.Policy, cfg.Record = c.frontendID(i), spec, folder
		})
		c.fronts = append(c.fronts, f)
	}
	return c
}

func (c *cluster) addNode() *nodeOf {
	c.t.Helper()
	n := c.node(0, 4, func(cfg *nodemonitor.Config) { cfg.Policy, cfg.Grace = c.spec, 0 })
	c.nodes = append(c.nodes, n)
	return n
}

// submitMix submits short and long jobs to every frontend, more than can run at a time.
func (c *cluster) submitMix(name string, jobs int) (ids [][]string) {
	c.t.Helper()
	ids = make([][]string, len(c.fronts))
	for i, f := range c.fronts {
		for k := range jobs {
			r := sleeps(fmt.Sprintf("%s-%d", name, k), 6, 5*time.Millisecond)
			r.Estimate, r.EstimateSet = 5*time.Millisecond, true
			if k%3 == 2 {
				r = sleeps(fmt.Sprintf("%s-%d", name, k), 4, 80*time.Millisecond)
				r.Class = "long"
			}
			ids[i] = append(ids[i], c.submit(f, r))
		}
	}
	return ids
}

// allDone waits for all jobs to complete.
func (c *cluster) allDone(ids [][]string) {
	c.t.Helper()
	var all sync.WaitGroup
	for i, f := range c.fronts {
		for _, id := range ids[i] {
			all.Go(func() {
				s, err := f.Wait(c.t.Context(), id, 30*time.Second)
				if err != nil || s.State != api.StateCompleted || s.Completed != s.Tasks {
					e, _ := f.Explain(c.t.Context(), id)
					c.t.Errorf("%s: job %s at frontend %d: %+v, %v; %+v", c.spec, id, i, s, err, e)
				}
			})
		}
	}
	all.Wait()
}

// Under every policy real daemons run short and long jobs of several frontends to
// their end, a node that stops in the middle and one that comes included, a frontend
// and the master that are started again as well.
func TestEveryPolicyLive(t *testing.T) {
	t.Parallel()
	for _, spec := range rivals {
		t.Run(spec, func(t *testing.T) {
			c := newCluster(t, spec)
			c.allDone(c.submitMix("calm", 6))

			ids := c.submitMix("node", 6)
			c.nodes[0].process.Stop()
			c.addNode()
			c.allDone(ids)

			ids = c.submitMix("frontend", 6)
			c.fronts[1] = c.restartFrontend(c.fronts[1])
			c.allDone(ids)

			ids = c.submitMix("master", 6)
			c.master = c.restart(c.master)
			c.allDone(ids)
		})
	}
}

// Status shows what runs, and where, under every policy; cancelling ends it everywhere.
func TestEveryPolicyStatus(t *testing.T) {
	t.Parallel()
	for _, spec := range rivals {
		t.Run(spec, func(t *testing.T) {
			c := newCluster(t, spec)
			f := c.fronts[0]
			for _, class := range []string{"short", "long"} {
				r := script(class, `echo "$0 here"; exec sleep 3600`, "")
				r.Class = class
				c.submit(f, r)
				daemontest.Await(t, "it runs, and its place is shown", func() bool {
					e, err := f.Explain(t.Context(), class)
					return err == nil && e.Status.State == api.StateRunning && e.Status.Running == 1 && len(e.Tasks) == 1 && strings.Contains(e.Tasks[0].Node, "/")
				})
				daemontest.Await(t, "its output is read while it runs", func() bool {
					chunk, err := f.TaskLog(t.Context(), logOf(class))
					return err == nil && string(chunk.Data) == "sh here\n"
				})
				if s, err := f.Cancel(t.Context(), class); err != nil || s.State != api.StateCancelled {
					t.Errorf("%+v, %v", s, err)
				}
			}
			c.allDone(c.submitMix("after", 3))
		})
	}
}

// logOf returns the output of the first task of a job.
func logOf(job string) wire.LogRequest {
	return wire.LogRequest{Job: job, Stream: "stdout", Limit: 1 << 10}
}
