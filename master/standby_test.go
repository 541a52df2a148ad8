package master_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/internal/leadership/leadershiptest"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// pair is a group with a leader and a standby, nodes and a frontend.
type pair struct {
	t         *testing.T
	policy    string
	leader    *oneOf
	standby   *oneOf
	addresses string
	nodes     []*nodemonitor.NodeMonitor
	*wire.SchedulerClient
	folder string // a file for each start of a task
}

// oneOf is one of the masters of a group, with its own connection to the store of leaderships.
type oneOf struct {
	*master.Daemon
	store   *cuttable
	process *daemontest.Process
}

// cuttable is a store that one master can be cut off from.
type cuttable struct {
	*leadershiptest.Memory
	cut   atomicError
	keeps atomic.Bool // removals are answered and not carried out
}

func newPair(t *testing.T, policy string) *pair {
	t.Helper()
	p := &pair{t: t, policy: policy, folder: t.TempDir()}
	store := leadershiptest.NewMemory()
	p.leader = p.master(store, "127.0.0.1:0")
	daemontest.Await(t, "the first master leads", p.leader.Leads)
	p.standby = p.master(store, "127.0.0.1:0")
	p.addresses = p.leader.Addr() + "/" + p.standby.Addr()
	for i := range 2 {
		c := nodemonitor.Default()
		c.ID, c.Slots, c.Master, c.Policy, c.Reserved = fmt.Sprintf("n-%d", i), 2, p.addresses, policy, 0
		c.Listen, c.HTTP, c.WorkDir = "127.0.0.1:0", "", t.TempDir()
		n, err := nodemonitor.New(c, nodemonitor.Deps{Log: daemontest.Log(t)})
		if err != nil {
			t.Fatal(err)
		}
		daemontest.Run(t, n)
		p.nodes = append(p.nodes, n)
	}
	c := frontend.Default()
	c.Listen, c.InternalListen, c.HTTP, c.Data, c.Masters, c.Policy, c.Reserved = "127.0.0.1:0", "127.0.0.1:0", "", t.TempDir(), []string{p.addresses}, policy, 0
	f, err := frontend.New(c, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	daemontest.Run(t, f)
	pool, err := client.New(client.Options{Name: "frontend", Address: f.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() }) // it has no error
	p.SchedulerClient = wire.NewSchedulerClient(pool)
	daemontest.Await(t, "the standby knows whom to expect", func() bool { return master.Expects(p.standby.Daemon) == 3 })
	return p
}

func (p *pair) master(store *leadershiptest.Memory, listen string) *oneOf {
	p.t.Helper()
	c := master.Default()
	c.Listen, c.HTTP, c.Reserved, c.Policy, c.Leadership, c.NATS = listen, "", 0, p.policy, daemon.JetStreamLeadership, "nats://127.0.0.1:1"
	own := &cuttable{Memory: store}
	d, err := master.NewDaemon(c, master.Deps{Log: daemontest.Log(p.t), Leaderships: own})
	if err != nil {
		p.t.Fatal(err)
	}
	return &oneOf{d, own, daemontest.Run(p.t, d)}
}

// submit submits a job of tasks that each write a file named by the task and the attempt, and run
// until there is a file go.
func (p *pair) submit(key string, tasks int, class string) string {
	p.t.Helper()
	r := &api.Request{App: "app", Key: key, Backend: api.BackendExec, Class: class}
	for range tasks {
		r.Tasks = append(r.Tasks, api.Task{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{
			"sh", "-c", `touch "$1/$2.$PIGEON_TASK.$PIGEON_ATTEMPT.$$"; until [ -e "$1/go" ]; do sleep 0.05; done`, "sh", p.folder, key,
		}}}})
	}
	id, _, err := p.Submit(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// started returns the starts of the tasks of a job.
func (p *pair) started(key string) (starts []string) {
	p.t.Helper()
	list, err := os.ReadDir(p.folder)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range list {
		if strings.HasPrefix(f.Name(), key+".") {
			starts = append(starts, f.Name())
		}
	}
	return starts
}

func (p *pair) awaitStarted(key string, n int) {
	p.t.Helper()
	daemontest.Await(p.t, fmt.Sprintf("%d tasks of %s have started", n, key), func() bool { return len(p.started(key)) >= n })
}

// release lets all tasks end.
func (p *pair) release() {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, "go"), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// once expects a job to complete, with each of its tasks started once.
func (p *pair) once(id, key string, tasks int) {
	p.t.Helper()
	s, err := p.Wait(p.t.Context(), id, 30*time.Second)
	if err != nil || s.State != api.StateCompleted || s.Completed != tasks {
		p.t.Fatalf("job %s: %+v, %v", key, s, err)
	}
	starts := p.started(key)
	seen := map[string]bool{}
	for _, s := range starts {
		seen[strings.Split(s, ".")[1]] = true
	}
	if len(starts) != tasks || len(seen) != tasks {
		slices.Sort(starts)
		p.t.Errorf("%d tasks of %s started %d times: %v", tasks, key, len(starts), starts)
	}
}

// The policies of the tests: masters of groups, one master with a core, and one without.
var standbyPolicies = []string{"pigeon", "eagle", "sparrow"}

// However the leader ends, the standby takes over: running tasks are not started again,
// waiting ones are not lost, and new jobs run.
func TestTakeover(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *pair){
		"crash": func(p *pair) {
			p.leader.store.keeps.Store(true)
			master.Crash(p.leader.Daemon)
			if err := p.leader.process.End(); err == nil {
				p.t.Error("it did not end")
			}
		},
		"resign":  func(p *pair) { p.leader.process.Stop() },
		"pause":   func(p *pair) { master.Pause(p.leader.Daemon); p.leader.store.cut.set(errCut) },
		"cut off": func(p *pair) { p.leader.store.cut.set(errCut) },
	} {
		for _, policy := range standbyPolicies {
			t.Run(name+" "+policy, func(t *testing.T) {
				p := newPair(t, policy)
				id := p.submit("before", 7, "short")
				p.awaitStarted("before", 4)
				before := master.Incarnation(p.leader.Daemon)
				end(p)
				daemontest.Await(t, "the standby leads", p.standby.Leads)
				later := p.submit("after", 3, "short")
				p.release()
				p.once(id, "before", 7)
				p.once(later, "after", 3)
				if name == "cut off" {
					daemontest.Await(t, "the former leader is made anew", func() bool { return master.Incarnation(p.leader.Daemon) != before })
				}
			})
		}
	}
}

var _ leadership.Store = (*cuttable)(nil)
