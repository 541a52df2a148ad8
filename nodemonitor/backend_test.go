package nodemonitor

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// sparkProcess is a backend process of an application as its authors wrote it: it
// serves the published BackendService and calls with the generated client.
type sparkProcess struct {
	t       *testing.T
	address string
	stop    func() error
	tasks   chan *published.TFullTaskId
	texts   chan string
	calls   *client.Pool
}

// LaunchTask implements published.BackendService.
func (p *sparkProcess) LaunchTask(_ context.Context, message []byte, task *published.TFullTaskId, user *published.TUserGroupInfo) error {
	p.texts <- fmt.Sprintf("%s for %s of %s, priority %d", message, user.User, user.Group, user.Priority)
	p.tasks <- task
	return nil
}

func startProcess(t *testing.T, n *testNode) *sparkProcess {
	t.Helper()
	p := &sparkProcess{t: t, tasks: make(chan *published.TFullTaskId, 10), texts: make(chan string, 10)}
	s, err := server.New(published.NewBackendServiceProcessor(p), server.Options{Name: "backend"})
	if err != nil {
		t.Fatal(err)
	}
	p.stop = sync.OnceValue(servertest.Run(t, s))
	t.Cleanup(func() { p.stop() })
	p.address = s.Addr().String()
	if p.calls, err = client.New(client.Options{Name: "node", Address: n.Addrs().Listen, CallTimeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.calls.Close() })
	return p
}

// call calls the node monitor as the published clients do.
func (p *sparkProcess) call(f func(context.Context, *published.MasterServiceClient) error) error {
	return p.calls.Do(context.Background(), func(ctx context.Context, c thrift.TClient) error {
		return f(ctx, published.NewMasterServiceClient(c))
	})
}

func (p *sparkProcess) register(app string, kind int32) {
	p.t.Helper()
	if err := p.call(func(ctx context.Context, c *published.MasterServiceClient) error {
		ok, err := c.RegisterBackend(ctx, app, "backend-host/"+p.address, kind) // as Java prints it
		if err == nil && !ok {
			err = fmt.Errorf("registration was declined")
		}
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
}

// application adds what a frontend serves to backends' messages to the world.
type application struct {
	wire.Scheduler // nothing else is called
	w              *world
}

func (a application) FrontendMessage(_ context.Context, app string, task wire.TaskRef, status int32, message []byte) error {
	a.w.update(func() {
		a.w.messages = append(a.w.messages, fmt.Sprintf("%s %s/%s %d %s", app, task.Job, task.Task, status, bytes.TrimSpace(message)))
	})
	return nil
}

func (w *world) launchApp(slot int32, seq uint64, id sched.AttemptID, scheduler string) wire.Item {
	it := w.launch(slot, seq, id, api.Payload{Message: []byte("work")})
	it.Msg.App, it.User, it.SchedulerAddress, it.TaskIDs = "spark", "ann", scheduler, []string{fmt.Sprintf("t%d", id.Task)}
	it.UserGroup, it.UserPriority = "staff", 3
	return it
}

// slotsReported waits until the last snapshot has that many slots, and returns it.
func (w *world) slotsReported(count int, serves string) *wire.Snapshot {
	w.t.Helper()
	var last *wire.Snapshot
	w.await(fmt.Sprintf("a snapshot of %d slots, serving %s", count, serves), func() bool {
		if len(w.snapshots) == 0 {
			return false
		}
		last = w.snapshots[len(w.snapshots)-1]
		return len(last.Slots) == count && strings.Join(last.Slots[0].Serves, "+") == serves
	})
	return last
}

// TestClassicBackend: the life of a published backend. It brings a slot, which is
// reported at once; it gets a task, sends messages to the application, reports the end;
// and when it vanishes its task is lost and the slot withdrawn.
func TestClassicBackend(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	scheduler := servertest.Start(t, wire.SchedulerProcessor(application{w: w}), server.Options{Name: "frontend's scheduler service", MaxFrame: server.ClientMaxFrame})
	n := w.start(func(c *Config) { c.Heartbeat = time.Minute }) // nothing here waits for a heartbeat
	p := startProcess(t, n)
	p.register("spark", 1)
	s := w.slotsReported(3, "").Slots[2]
	if s.Slot != 2 || !s.Reserved || !s.Fixed || !slices.Equal(s.Serves, []string{"spark"}) {
		t.Fatalf("the backend's slot is %+v", s)
	}
	id := attemptOf(1, 7)
	n.deliver(w.launchApp(2, s.Seq, id, scheduler.Addr().String()))
	if text := receive(t, p.texts); text != "work for ann of staff, priority 3" {
		t.Errorf("the backend got %q", text)
	}
	task := receive(t, p.tasks)
	if task.TaskId != "t7" || task.RequestId != "job-"+id.Job.String() || task.AppId != "spark" || !task.IsHT {
		t.Errorf("the backend got %+v", task)
	}
	for i := range 3 {
		if err := p.call(func(ctx context.Context, c *published.MasterServiceClient) error {
			return c.SendFrontendMessage(ctx, "spark", task, int32(i), []byte("step"+strings.Repeat(" ", i*7<<20))) // the last needs 14 MiB
		}); err != nil {
			t.Fatal(err)
		}
	}
	host, port := "127.0.0.1", int32(0)
	fmt.Sscanf(p.address, "127.0.0.1:%d", &port)
	if err := p.call(func(ctx context.Context, c *published.MasterServiceClient) error {
		return c.TaskFinished(ctx, []*published.TFullTaskId{task}, &published.THostPort{Host: host, Port: port})
	}); err != nil {
		t.Fatal(err)
	}
	w.await("the report", func() bool { r := find(w.noticed, sched.Report, id); return r != nil && r.Msg.Outcome == sched.Done })
	w.await("the messages, in order and once each", func() bool { return len(w.messages) == 3 })
	for i, m := range w.messages {
		if m != fmt.Sprintf("spark job-%v/t7 %d step", id.Job, i) {
			t.Errorf("message %d is %q", i, m)
		}
	}

	next := attemptOf(1, 8)
	n.deliver(w.launchApp(2, s.Seq+2, next, scheduler.Addr().String()))
	receive(t, p.tasks)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	w.await("its task is lost", func() bool {
		r := find(w.noticed, sched.Report, next)
		return r != nil && r.Msg.Outcome == sched.Lost && strings.Contains(r.Msg.Reason, `backend of application "spark"`)
	})
	w.slotsReported(2, "")
	n.deliver(w.launchApp(2, s.Seq+4, attemptOf(1, 9), scheduler.Addr().String()))
	w.await("the slot is gone", func() bool { return find(w.linked, sched.Refused, attemptOf(1, 9)) != nil })
}

// TestResidentBackend: every slot of the node serves the application, until the
// process is gone.
func TestResidentBackend(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	n := w.start(nil)
	p := startProcess(t, n)
	p.register("spark", 2)
	w.slotsReported(2, "+spark")
	id := attemptOf(1, 0)
	n.deliver(w.launchApp(1, 0, id, "127.0.0.1:1"))
	task := receive(t, p.tasks)
	if err := p.call(func(ctx context.Context, c *published.MasterServiceClient) error {
		return c.TaskFinished(ctx, []*published.TFullTaskId{task}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	w.await("the report", func() bool { return find(w.noticed, sched.Report, id) != nil })
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	w.slotsReported(2, "")
	n.deliver(w.launchApp(1, 2, attemptOf(1, 1), "127.0.0.1:1"))
	w.await("without a backend the task is lost, to be tried elsewhere", func() bool {
		r := find(w.noticed, sched.Report, attemptOf(1, 1))
		return r != nil && r.Msg.Outcome == sched.Lost && strings.Contains(r.Msg.Reason, "no backend of application")
	})
}

// A node with max_backends 0 takes no backend.
func TestNoBackends(t *testing.T) {
	w := newWorld(t, false)
	p := startProcess(t, w.start(func(c *Config) { c.MaxBackends = 0 }))
	err := p.call(func(ctx context.Context, c *published.MasterServiceClient) error {
		_, err := c.RegisterBackend(ctx, "spark", p.address, 0)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "the node has 0 backends, its limit (max_backends)") {
		t.Errorf("a backend at a node that takes none: %v", err)
	}
}

// TestRelay: messages wait for a frontend that restarts, in order, up to a limit
// that the refusal names.
func TestRelay(t *testing.T) {
	w := newWorld(t, false)
	probe, err := server.New(wire.SchedulerProcessor(application{w: w}), server.Options{Name: "a frontend that is down"})
	if err != nil {
		t.Fatal(err)
	}
	if err := probe.Listen(); err != nil {
		t.Fatal(err)
	}
	address := probe.Addr().String()
	probe.Close() // the port is free, for later

	n := w.start(func(c *Config) { c.MaxMessages = 3 })
	p := startProcess(t, n)
	var port int32
	fmt.Sscanf(address, "127.0.0.1:%d", &port)
	send := func(i int, to *published.THostPort) error {
		return p.call(func(ctx context.Context, c *published.MasterServiceClient) error {
			return c.SendFrontendMessage(ctx, "spark", &published.TFullTaskId{TaskId: "t", RequestId: "j", AppId: "spark", SchedulerAddress: to}, int32(i), nil)
		})
	}
	to := &published.THostPort{Host: "127.0.0.1", Port: port}
	for i := range 3 {
		if err := send(i, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := send(3, to); err == nil || !strings.Contains(err.Error(), "3 messages wait for it, which is the limit (max_messages)") {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := send(0, nil); err == nil || !strings.Contains(err.Error(), "names no frontend") {
		t.Errorf("without an address: %v", err)
	}
	servertest.Start(t, wire.SchedulerProcessor(application{w: w}), server.Options{Name: "the frontend", Address: address})
	w.await("the messages", func() bool { return len(w.messages) == 3 })
	for i, m := range w.messages {
		if m != fmt.Sprintf("spark j/t %d ", i) {
			t.Errorf("message %d is %q", i, m)
		}
	}
}

// TestBackendNamesItselfOtherwise: a backend that registered its name and reports under its
// address frees its slot, and one that reports another's task learns that it was refused.
func TestBackendNamesItselfOtherwise(t *testing.T) {
	w := newWorld(t, true)
	n := w.start(nil)
	p := startProcess(t, n)
	var port int32
	fmt.Sscanf(p.address, "127.0.0.1:%d", &port)
	p.address = fmt.Sprintf("localhost:%d", port)
	if err := p.call(func(ctx context.Context, c *published.MasterServiceClient) error {
		_, err := c.RegisterBackend(ctx, "spark", p.address, 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s := w.slotsReported(3, "").Slots[2]
	id := attemptOf(1, 3)
	n.deliver(w.launchApp(2, s.Seq, id, "127.0.0.1:1"))
	task := receive(t, p.tasks)
	finished := func(port int32) error {
		return p.call(func(ctx context.Context, c *published.MasterServiceClient) error {
			return c.TaskFinished(ctx, []*published.TFullTaskId{task}, &published.THostPort{Host: "127.0.0.1", Port: port})
		})
	}
	if err := finished(port + 1); err == nil || !strings.Contains(err.Error(), "it runs in the backend at "+p.address) {
		t.Errorf("a report by another worker: %v", err)
	}
	if err := finished(port); err != nil {
		t.Fatal(err)
	}
	w.await("the report", func() bool { r := find(w.noticed, sched.Report, id); return r != nil && r.Msg.Outcome == sched.Done })
}

// throwingProcess is a backend in Java: its server closes the connection of a call that
// throws, without an answer, and continues.
type throwingProcess struct{ launches chan struct{} }

func (p throwingProcess) LaunchTask(context.Context, []byte, *published.TFullTaskId, *published.TUserGroupInfo) error {
	p.launches <- struct{}{}
	return thrift.ErrAbandonRequest // closes the connection
}

// TestBackendThatThrows: launches that throw do not cost a backend its place forever.
func TestBackendThatThrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	n := w.start(nil)
	throwing := throwingProcess{make(chan struct{}, 10)}
	s := servertest.Start(t, published.NewBackendServiceProcessor(throwing), server.Options{Name: "backend"})
	p := startProcess(t, n) // for its calls
	p.address = s.Addr().String()
	p.register("spark", 2)
	w.slotsReported(2, "+spark")
	for i := range 3 {
		id := sched.AttemptID{Job: attemptOf(1, 1).Job, Task: 1, Attempt: int32(i + 1)}
		n.deliver(w.launchApp(1, uint64(2*i), id, "127.0.0.1:1"))
		receive(t, throwing.launches)
		want := sched.Lost
		if i == 2 {
			want = sched.Failed
		}
		w.await("the end of the attempt", func() bool { r := find(w.noticed, sched.Report, id); return r != nil && r.Msg.Outcome == want })
	}
	w.slotsReported(2, "")
	w.slotsReported(2, "+spark") // it came back by itself
}
