package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/dev"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// These tests are an application and a backend as others wrote them: the
// generated services over the Thrift library's own client and server, nothing of
// this program's.

// style is how a kind of published client behaves.
type style struct {
	name     string
	kind     int32
	message  func(d time.Duration) []byte // what tasks carry
	duration func(message []byte) time.Duration
	finished func(ctx context.Context, node *published.NodeMonitorServiceClient, id *published.TFullTaskId, self *published.THostPort) error
}

func styles() []style {
	return []style{
		{
			name: "sparrow",
			message: func(d time.Duration) []byte {
				return binary.BigEndian.AppendUint32(nil, uint32(d.Milliseconds())) //nolint:gosec // milliseconds of a test
			},
			duration: func(m []byte) time.Duration { return time.Duration(binary.BigEndian.Uint32(m)) * time.Millisecond },
			finished: func(ctx context.Context, node *published.NodeMonitorServiceClient, id *published.TFullTaskId, _ *published.THostPort) error {
				return node.TasksFinished(ctx, []*published.TFullTaskId{id})
			},
		},
		{
			name: "pigeon",
			message: func(d time.Duration) []byte {
				return binary.BigEndian.AppendUint64(nil, uint64(d.Milliseconds())) //nolint:gosec // milliseconds of a test
			},
			duration: func(m []byte) time.Duration {
				return time.Duration(binary.BigEndian.Uint64(m)) * time.Millisecond //nolint:gosec // milliseconds of a test
			},
			finished: func(ctx context.Context, node *published.NodeMonitorServiceClient, id *published.TFullTaskId, self *published.THostPort) error {
				return node.TaskFinished(ctx, []*published.TFullTaskId{id}, self)
			},
		},
	}
}

// listenThrift serves a processor until the test ends and returns its address. The
// library's server stops when its clients have left, so the test stops the
// cluster before it ends.
func listenThrift(t *testing.T, p thrift.TProcessor) string {
	t.Helper()
	socket, err := thrift.NewTServerSocket("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := socket.Listen(); err != nil {
		t.Fatal(err)
	}
	conf := &thrift.TConfiguration{}
	s := thrift.NewTSimpleServer4(p, socket, thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), conf), thrift.NewTBinaryProtocolFactoryConf(conf))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		_ = s.Stop() // its error is that the socket is closed
		<-ended
	})
	return socket.Addr().String()
}

// dialThrift returns a client of the Thrift library; one call at a time.
func dialThrift(t *testing.T, address string) thrift.TClient {
	t.Helper()
	conf := &thrift.TConfiguration{ConnectTimeout: 5 * time.Second, SocketTimeout: 20 * time.Second}
	transport := thrift.NewTFramedTransportConf(thrift.NewTSocketConf(address, conf), conf)
	if err := transport.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = transport.Close() }) // the other side may have gone
	f := thrift.NewTBinaryProtocolFactoryConf(conf)
	return thrift.NewTStandardClient(f.GetProtocol(transport), f.GetProtocol(transport))
}

// listener is an application's FrontendService: the messages that it receives, by task.
type listener struct {
	received chan string
}

func (e listener) FrontendMessage(_ context.Context, id *published.TFullTaskId, status int32, message []byte) error {
	e.received <- fmt.Sprintf("%s %d %s", id.TaskId, status, message)
	return nil
}

// sleeper is a backend: it sleeps for the duration, then reports and sends a message to the application.
type sleeper struct {
	style   style
	app     string
	self    *published.THostPort
	mu      sync.Mutex // calls to the node go one by one
	node    *published.NodeMonitorServiceClient
	working sync.WaitGroup
	failed  chan error
}

func (h *sleeper) LaunchTask(_ context.Context, message []byte, id *published.TFullTaskId, user *published.TUserGroupInfo) error {
	if user.User != "u" || user.Group != "g" || user.Priority != 7 {
		h.failed <- fmt.Errorf("the backend received the user %+v", user)
	}
	h.working.Go(func() {
		time.Sleep(h.style.duration(message)) // its work
		if err := h.report(id, 0, "done"); err != nil {
			h.failed <- err
		}
	})
	return nil
}

func (h *sleeper) report(id *published.TFullTaskId, status int32, text string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	ctx := context.Background()
	if err := h.node.SendFrontendMessage(ctx, h.app, id, status, []byte(text)); err != nil {
		return err
	}
	return h.style.finished(ctx, h.node, id, h.self)
}

// startBackend serves BackendService and registers with a node.
func startBackend(t, cluster *testing.T, s style, app, node string) *sleeper {
	t.Helper()
	h := &sleeper{style: s, app: app, node: published.NewNodeMonitorServiceClient(dialThrift(cluster, node)), failed: make(chan error, 100)}
	address := listenThrift(cluster, published.NewBackendServiceProcessor(h))
	h.self = hostPort(t, address)
	h.mu.Lock() // the first task may come before the answer
	defer h.mu.Unlock()
	if ok, err := h.node.RegisterBackend(t.Context(), app, "worker/"+address, s.kind); !ok || err != nil {
		t.Fatalf("the backend was not registered: %v %v", ok, err)
	}
	return h
}

// TestPublishedApplications: applications and backends of Sparrow and of Pigeon
// run unmodified, whichever registers first, and receive each message once.
func TestPublishedApplications(t *testing.T) {
	b, line := runDev(t, "--groups", "1", "--nodes", "2", "--slots", "1")
	defer b.stop()
	for _, s := range styles() {
		for _, backendFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, backend first %v", s.name, backendFirst), func(c *testing.T) {
				publishedJob(c, t, s, fmt.Sprintf("%s-%v", s.name, backendFirst), line, backendFirst)
			})
		}
	}
}

func publishedJob(t, cluster *testing.T, s style, app string, line dev.Line, backendFirst bool) {
	const tasks = 8
	var backend *sleeper
	if backendFirst {
		backend = startBackend(t, cluster, s, app, line.Backends[0].Address)
	}
	messages := listener{received: make(chan string, 10*tasks)}
	mine := listenThrift(cluster, published.NewFrontendServiceProcessor(messages))
	scheduler := published.NewSchedulerServiceClient(dialThrift(cluster, line.Frontends[0]))
	if ok, err := scheduler.RegisterFrontend(t.Context(), app, "/"+mine); !ok || err != nil {
		t.Fatal(ok, err)
	}
	request := &published.TSchedulingRequest{App: app, User: &published.TUserGroupInfo{User: "u", Group: "g", Priority: 7}}
	for i := range tasks {
		request.Tasks = append(request.Tasks, &published.TTaskSpec{TaskId: fmt.Sprintf("t%d", i), Message: s.message(2 * time.Millisecond)})
	}
	if err := scheduler.SubmitJob(t.Context(), &published.TSchedulingRequest{App: app}); err != nil {
		t.Fatalf("a ping: %v", err)
	}
	if err := scheduler.SubmitJob(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if !backendFirst {
		job := jobOf(t, app)
		if got := succeed(t, "explain", job.Job); job.State != api.StateQueued || !strings.Contains(got, "held at frontend") || !strings.Contains(got, app) {
			t.Errorf("before there is a backend: %+v\n%s", job, got)
		}
		backend = startBackend(t, cluster, s, app, line.Backends[1].Address)
	}
	if job := jobOf(t, app); job.Owner != "g/u" || job.Priority != 7 {
		t.Errorf("the job of user u of group g with priority 7: %+v", job)
	}
	counts := map[string]int{}
	for range tasks {
		counts[nextMessage(t, messages, backend)]++
	}
	if got := succeed(t, "status"); !strings.Contains(got, "applications on the nodes: ") || !strings.Contains(got, app) {
		t.Errorf("status names no application:\n%s", got)
	}
	if code, _, stderr := pigeon(t, "status", app); code == 0 || !strings.Contains(stderr, "it is an application, and no job") {
		t.Errorf("an application taken for a job: status %d, %s", code, stderr)
	}
	if got := succeed(t, "explain", app); !strings.Contains(got, "its backends serve 1 slot of 1 node (node-0-00") {
		t.Errorf("an application explained: %s", got)
	}
	// The rest arrives in order and once.
	if err := backend.report(&published.TFullTaskId{TaskId: "last", RequestId: jobOf(t, app).Job, AppId: app, SchedulerAddress: hostPort(t, line.Frontends[0])}, 9, "end"); err != nil {
		t.Fatal(err)
	}
	if last := nextMessage(t, messages, backend); last != "last 9 end" {
		t.Errorf("received %q after every task", last)
	}
	for i := range tasks {
		if what := fmt.Sprintf("t%d 0 done", i); counts[what] != 1 {
			t.Errorf("%q was received %d times; all: %v", what, counts[what], counts)
		}
	}
	await.Until(t, "the job's end", func() bool { j := jobOf(t, app); return j.State == api.StateCompleted && j.Completed == tasks })
	backend.working.Wait()
}

func nextMessage(t *testing.T, e listener, b *sleeper) string {
	t.Helper()
	select {
	case what := <-e.received:
		return what
	case err := <-b.failed:
		t.Fatal(err)
	case <-time.After(await.Limit):
		t.Fatal("the application received no message")
	}
	return ""
}

// jobOf returns the one job of an application.
func jobOf(t *testing.T, app string) api.Status {
	t.Helper()
	for _, s := range lines[api.Status](t, succeed(t, "status", "-o", "json")) {
		if s.App == app {
			return s
		}
	}
	t.Fatalf("no job of %s", app)
	return api.Status{}
}

func hostPort(t *testing.T, address string) *published.THostPort {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &published.THostPort{Host: host, Port: int32(n)}
}
