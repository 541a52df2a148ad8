package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// processes is a job of processes that record where and as which attempt they start.
type processes struct {
	t   *testing.T
	s   *wire.SchedulerClient
	dir string
	key string
	n   int
}

// submitProcesses submits n processes of the class. Each records its start and runs until
// the file "end" exists, or for the time that is given.
func submitProcesses(t *testing.T, s *wire.SchedulerClient, key, class string, n int, sleep string) *processes {
	t.Helper()
	p := &processes{t: t, s: s, dir: t.TempDir(), key: key, n: n}
	script := fmt.Sprintf(`mkdir %s/$PIGEON_TASK.$PIGEON_ATTEMPT@$PIGEON_NODE || touch %s/twice; `, p.dir, p.dir)
	if sleep == "" {
		script += fmt.Sprintf(`until test -e %s/end; do sleep 0.05; done`, p.dir)
	} else {
		script += "sleep " + sleep
	}
	tasks := make([]api.Task, n)
	for i := range tasks {
		tasks[i].ID = fmt.Sprint(i)
		tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", script}}}
	}
	if _, _, err := s.Submit(t.Context(), &api.Request{Backend: api.BackendExec, Key: key, Class: class, Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	return p
}

// starts lists the starts: TASK.ATTEMPT@NODE.
func (p *processes) starts() []string {
	list, err := filepath.Glob(filepath.Join(p.dir, "*@*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// latest returns the node of the start with the highest attempt of the only task.
func (p *processes) latest() (node string) {
	highest := 0
	for _, s := range p.starts() {
		attempt, at, _ := strings.Cut(strings.TrimPrefix(filepath.Base(s), "0."), "@")
		if n, err := strconv.Atoi(attempt); err != nil {
			p.t.Fatal(err)
		} else if n > highest {
			highest, node = n, at
		}
	}
	return node
}

// at counts the starts at a node.
func (p *processes) at(node string) (n int) {
	for _, s := range p.starts() {
		if strings.HasSuffix(s, "@"+node) {
			n++
		}
	}
	return n
}

func (p *processes) finish() {
	if err := os.WriteFile(filepath.Join(p.dir, "end"), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// await waits for the end of the job; every task must be done, and no attempt may have
// started twice.
func (p *processes) await() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), await.Limit)
	defer cancel()
	got, err := p.s.Wait(ctx, p.key, await.Limit)
	if err != nil || got.State != api.StateCompleted || got.Completed != p.n {
		p.t.Fatalf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "twice")); err == nil {
		p.t.Errorf("an attempt started twice: %v", p.starts())
	}
}

// nodeState returns a node as its master sees it.
func nodeState(t *testing.T, s *wire.SchedulerClient, name string) api.Node {
	t.Helper()
	groups, err := s.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range groups {
		for _, n := range groups[i].Nodes {
			if n.ID == name {
				return n
			}
		}
	}
	return api.Node{}
}

func awaitState(t *testing.T, s *wire.SchedulerClient, name, state string) {
	t.Helper()
	await.Until(t, name+" is "+state, func() bool { return nodeState(t, s, name).State == state },
		func() string { return fmt.Sprintf("%+v", nodeState(t, s, name)) })
}

// policies are one of each family; with -short one with groups, one without a master core and
// one with a central master.
func policies() []string {
	if testing.Short() {
		return []string{"pigeon", "sparrow", "kairos:cores=2"}
	}
	return []string{"pigeon", "pigeon-x", "fifo", "sparrow", "hawk", "eagle", "peacock", "kairos:cores=2"}
}

// awaitUse submits jobs, one after the other, until the node has run a task; placement may be
// random.
func awaitUse(t *testing.T, s *wire.SchedulerClient, key, node string) {
	t.Helper()
	for k := range 50 {
		p := submitProcesses(t, s, fmt.Sprint(key, k), "long", 6, "0.05")
		if p.await(); p.at(node) > 0 {
			return
		}
	}
	t.Fatalf("%s has run no task of 50 jobs: %+v", node, nodeState(t, s, node))
}

// TestDrain: under load, a drain loses nothing, starts nothing twice and nothing again:
// running attempts end there, waiting tasks start elsewhere. A drained node takes nothing, a
// resumed one takes tasks again.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, policy := range policies() {
		t.Run(policy, func(t *testing.T) {
			c := start(t, cluster.Spec{Groups: []int{3}, Slots: 2, Policy: policy, Cutoff: time.Second})
			s := scheduler(t, c.Frontends()[0])
			const node = "node-0-001"
			awaitUse(t, s, "first", node) // some frontends place tasks before they know all nodes
			short := submitProcesses(t, s, "short", "short", 24, "0.05")
			long := submitProcesses(t, s, "long", "long", 12, "0.1")
			await.Until(t, "the node runs something", func() bool { return short.at(node)+long.at(node) > 0 },
				func() string { return fmt.Sprint(nodeState(t, s, node), short.starts(), long.starts()) })
			d, err := s.DrainNode(t.Context(), node, api.DrainOrder{})
			if err != nil || d.Node != node || d.State == api.StateUp || len(d.Only) != 0 {
				t.Fatalf("%+v, %v", d, err)
			}
			awaitState(t, s, node, api.StateDrained)
			before := short.at(node) + long.at(node)
			more := submitProcesses(t, s, "more", "short", 12, "0.01")
			for _, p := range []*processes{short, long, more} {
				p.await()
				if got := p.starts(); len(got) != p.n {
					t.Errorf("%d starts of %d tasks: %v", len(got), p.n, got)
				}
			}
			if after := short.at(node) + long.at(node) + more.at(node); after != before {
				t.Errorf("%d tasks started at a drained node", after-before)
			}
			if n := nodeState(t, s, node); n.Slots != 0 || n.State != api.StateDrained {
				t.Errorf("%+v", n)
			}

			if d, err = s.ResumeNode(t.Context(), node); err != nil || d.State != api.StateUp {
				t.Fatalf("%+v, %v", d, err)
			}
			await.Until(t, "the node has its slots again", func() bool { n := nodeState(t, s, node); return n.State == api.StateUp && n.Slots == 2 })
			awaitUse(t, s, "again", node)
			if _, err := s.ResumeNode(t.Context(), node); err == nil || !strings.Contains(err.Error(), "not draining") {
				t.Errorf("resumed twice: %v", err)
			}
		})
	}
}

// TestDrainDeadline: a task that still runs at the deadline of a drain starts at once
// elsewhere, as the next attempt, and the job does not fail for it, however often that happens.
func TestDrainDeadline(t *testing.T) {
	t.Parallel()
	for _, policy := range policies() {
		t.Run(policy, func(t *testing.T) {
			c := start(t, cluster.Spec{Groups: []int{4}, Slots: 2, Policy: policy, Cutoff: time.Second})
			s := scheduler(t, c.Frontends()[0])
			p := submitProcesses(t, s, "job", "long", 1, "")
			for drained := range 3 {
				await.Until(t, "a start", func() bool { return len(p.starts()) == drained+1 }, func() string { return fmt.Sprint(p.starts()) })
				node := p.latest()
				order := api.DrainOrder{Deadline: 10 * time.Millisecond}
				if drained == 1 {
					order = api.DrainOrder{Kill: true}
				}
				if _, err := s.DrainNode(t.Context(), node, order); err != nil {
					t.Fatal(err)
				}
				awaitState(t, s, node, api.StateDrained)
			}
			await.Until(t, "the fourth start", func() bool { return len(p.starts()) == 4 }, func() string { return fmt.Sprint(p.starts()) })
			p.finish()
			p.await()
			e, err := s.Explain(t.Context(), "job")
			if err != nil || strings.Contains(fmt.Sprint(e.Why), "lost") {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// TestDrainRefusals: an unknown node is refused with the nearest name; one that does not
// drain cannot be resumed; and a drain of the last node says what it stops.
func TestDrainRefusals(t *testing.T) {
	c := start(t, cluster.Spec{Groups: []int{1}, Slots: 1})
	s := scheduler(t, c.Frontends()[0])
	_, err := s.DrainNode(t.Context(), "node-0-01", api.DrainOrder{})
	if err == nil || !strings.Contains(err.Error(), `did you mean "node-0-000"`) {
		t.Errorf("an unknown node: %v", err)
	}
	if _, err = s.ResumeNode(t.Context(), "node-0-000"); err == nil || !strings.Contains(err.Error(), "not draining") {
		t.Errorf("a node that is up: %v", err)
	}
	d, err := s.DrainNode(t.Context(), "node-0-000", api.DrainOrder{})
	if err != nil || !slices.Equal(d.Only, []string{""}) {
		t.Errorf("the last node: %+v, %v", d, err)
	}
}

// TestOrderlyRestarts: a task whose node is stopped in order while it runs, three times and
// each time another one, is not lost: it starts at once elsewhere, and ends.
func TestOrderlyRestarts(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"pigeon", "sparrow", "hawk"} {
		t.Run(policy, func(t *testing.T) {
			if testing.Short() && policy != "pigeon" {
				t.Skip("real processes under another policy")
			}
			c := start(t, cluster.Spec{Groups: []int{4}, Slots: 1, Isolation: cluster.Process, Policy: policy})
			s := scheduler(t, c.Frontends()[0])
			p := submitProcesses(t, s, "job", "long", 1, "")
			stopped := map[string]bool{}
			for stops := range 3 {
				await.Until(t, "a start at another node", func() bool { return len(p.starts()) == stops+1 }, func() string { return fmt.Sprint(p.starts()) })
				node := p.latest()
				if stopped[node] {
					t.Fatalf("it started again at %s, which was stopped: %v", node, p.starts())
				}
				stopped[node] = true
				for i := range c.Count(cluster.NodeMonitor) {
					if strings.HasSuffix(node, fmt.Sprint(i)) {
						if err := c.Terminate(cluster.NodeMonitor, i); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			await.Until(t, "the fourth start", func() bool { return len(p.starts()) == 4 }, func() string { return fmt.Sprint(p.starts()) })
			p.finish()
			p.await()
			if e, err := s.Explain(t.Context(), "job"); err != nil || strings.Contains(fmt.Sprint(e.Why), "lost") {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// TestDrainSurvivesRestart: a node that drains continues to drain when its node monitor
// was killed and is started again, until it is resumed.
func TestDrainSurvivesRestart(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{2}, Slots: 1, Isolation: cluster.Process})
	s := scheduler(t, c.Frontends()[0])
	const node = "node-0-000"
	if _, err := s.DrainNode(t.Context(), node, api.DrainOrder{}); err != nil {
		t.Fatal(err)
	}
	awaitState(t, s, node, api.StateDrained)
	if err := c.Kill(cluster.NodeMonitor, 0); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the node is gone", func() bool { return nodeState(t, s, node).State != api.StateDrained })
	if err := c.Restart(cluster.NodeMonitor, 0); err != nil {
		t.Fatal(err)
	}
	awaitState(t, s, node, api.StateDrained)
	if _, err := s.ResumeNode(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	awaitState(t, s, node, api.StateUp)
}
