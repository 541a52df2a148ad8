package frontend_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// earlierMaster stands in for a master of group 0 of a version that does not know tasks.
type earlierMaster struct {
	inbox       *link.Inbox
	incarnation int64
	unknown     atomic.Int64
}

func (m *earlierMaster) Hello(context.Context, *wire.Hello) (wire.HelloReply, error) {
	return wire.HelloReply{Sender: addrmap.MasterRef(0), Incarnation: m.incarnation, Epoch: 1, Serves: []string{""}, Accepted: true, Registration: 1}, nil
}

func (m *earlierMaster) Snapshot(context.Context, *wire.Snapshot) (wire.SnapshotReply, error) {
	return wire.SnapshotReply{}, nil
}

func (m *earlierMaster) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return m.inbox.Accept(b, func(*wire.Batch) (string, error) { return "", nil })
}

// A master of a version that does not know how this frontend sends tasks receives such a
// message once, and the tasks run in the other group.
func TestMasterThatDoesNotKnowTasks(t *testing.T) {
	w := newWorld(t)
	m := &earlierMaster{incarnation: rand.Int64N(1<<62) + 1}
	m.inbox = link.NewInbox(addrmap.MasterRef(0), m.incarnation)
	codec := daemontest.Codec()
	codec.Unlearn(sched.Tasks)
	codec.OnUnknown(func(wire.Ref, int8) { m.unknown.Add(1) })
	s, err := server.New(wire.PeerProcessor(wire.PeerPorts{Batches: m, Registrar: m}, codec), server.Options{
		Name: "an earlier master", Address: "127.0.0.1:0", MaxFrame: wire.MaxBatchBytes, Log: daemontest.Log(t), Security: servertest.Anybody(),
	})
	if err == nil {
		err = s.Listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	daemontest.Run(t, s)
	w.masters = append(w.masters, s.Addr().String())
	w.master()
	w.node(1, 2)
	f := w.frontend()
	for range 3 {
		id := w.submit(f, sleeps("", 8, 0))
		if status := w.done(f, id); status.State != api.StateCompleted || status.Attempts != 8 {
			t.Errorf("the job ended as %+v", status)
		}
	}
	if n := m.unknown.Load(); n != 1 {
		t.Errorf("the master received %d messages that it does not know, want the first one only", n)
	}
}

// A master of a version that cannot be asked for one task is asked for the tasks of its job.
func TestLogAtAMasterThatCannotFindATask(t *testing.T) {
	w, group := newWorld(t), &countingGroup{tasks: []api.TaskStatus{{Task: 1, Attempt: 1, State: "running", Node: "n1/0"}, {Task: 2, Attempt: 1, State: "running", Node: "n2/0"}}}
	earlier := wire.PeerProcessor(wire.PeerPorts{Group: group}, daemontest.Codec())
	delete(earlier.ProcessorMap(), "runningAttempts")
	w.masters = []string{servertest.Start(t, earlier, server.Options{MaxFrame: wire.MaxBatchBytes, Security: servertest.Anybody()}).Addr().String()}
	f := w.frontend()
	w.submit(f, sleeps("job", 3, time.Hour))
	for task, want := range []string{"it has not started yet", `"n1"`, `"n2"`} {
		if _, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Task: task, Stream: "stdout"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("task %d: %v, want %s in it", task, err, want)
		}
	}
}
