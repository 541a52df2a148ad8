package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// launches is a backend as others wrote it, whose tasks end when the test ends them.
type launches struct{ tasks chan *published.TFullTaskId }

func (l launches) LaunchTask(_ context.Context, _ []byte, id *published.TFullTaskId, _ *published.TUserGroupInfo) error {
	l.tasks <- id
	return nil
}

func (l launches) next(t *testing.T) *published.TFullTaskId {
	t.Helper()
	select {
	case id := <-l.tasks:
		return id
	case <-time.After(await.Limit):
		t.Fatal("no task was launched in the backend")
		return nil
	}
}

// TestBackendOutlivesItsNodeMonitor is the description in docs/existing-applications.md of a
// node monitor that is killed and started again: the backend's connection breaks, it connects
// and registers again, has its slot back, and the task that ran there is launched again.
func TestBackendOutlivesItsNodeMonitor(t *testing.T) {
	t.Parallel()
	l := launches{make(chan *published.TFullTaskId, 10)}
	// The library's server stops when its clients have left, so the daemons stop before it.
	backend := listenThrift(t, published.NewBackendServiceProcessor(l))

	master := spawn(t, "master", "--listen", "127.0.0.1:0", "--http=")
	at := master.line.Addresses["daemons"]
	frontend := spawn(t, "frontend", "--masters", at, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http=", "--data", t.TempDir())
	applications := frontend.line.Addresses["applications"]
	// A separate loopback address, so that no other process takes the port in between.
	host, work := fmt.Sprintf("127.77.%d.%d", os.Getpid()>>8&0xff, os.Getpid()&0xff), t.TempDir()
	startNode := func(listen string) *process {
		return spawn(t, "nodemonitor", "--id", "node", "--slots", "0", "--master", at, "--listen", listen, "--internal-listen", "127.0.0.1:0", "--http=", "--work-dir", work)
	}
	node := startNode(host + ":0")
	address := node.line.Addresses["backends"]
	register := func(t *testing.T) *published.NodeMonitorServiceClient {
		c := published.NewNodeMonitorServiceClient(dialThrift(t, address))
		if ok, err := c.RegisterBackend(t.Context(), "app", backend, 0); !ok || err != nil {
			t.Fatalf("the backend was not registered: %v %v", ok, err)
		}
		return c
	}

	before := register(t)
	scheduler := published.NewSchedulerServiceClient(dialThrift(t, applications))
	request := &published.TSchedulingRequest{App: "app", Tasks: []*published.TTaskSpec{{TaskId: "t0"}, {TaskId: "t1"}}}
	if err := scheduler.SubmitJob(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	first := l.next(t)
	if err := node.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if node.wait() == nil {
		t.Error("the node monitor was killed, and its exit status is 0")
	}
	if err := before.TasksFinished(t.Context(), []*published.TFullTaskId{first}); err == nil {
		t.Error("a call to the node monitor that was killed did not fail")
	}

	node = startNode(address)
	await.Until(t, "the reason why the node runs nothing", func() bool {
		return strings.Contains(succeed(t, "nodes", "--frontend", applications), "no backend is registered")
	})
	id := lines[api.Status](t, succeed(t, "status", "--frontend", applications, "-o", "json"))[0].Job
	await.Until(t, "the reason why the job waits", func() bool {
		return strings.Contains(succeed(t, "explain", "--frontend", applications, id), "register again only when they are started again")
	})
	after := register(t)
	var ended []string
	for range 2 { // a slot: one after the other
		id := l.next(t)
		ended = append(ended, id.TaskId)
		if err := after.TasksFinished(t.Context(), []*published.TFullTaskId{id}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(ended)
	if !slices.Equal(ended, []string{"t0", "t1"}) {
		t.Errorf("launched after the restart: %v, want both tasks", ended)
	}
	await.Until(t, "the job's end", func() bool {
		jobs := lines[api.Status](t, succeed(t, "status", "--frontend", applications, "-o", "json"))
		return len(jobs) > 0 && jobs[0].State == api.StateCompleted
	})
	for _, p := range []*process{node, frontend, master} {
		p.end(t)
	}
}
