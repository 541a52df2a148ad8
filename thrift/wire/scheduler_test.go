package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// dialScheduler serves the port over TCP and gives a client of it.
func dialScheduler(t *testing.T, s wire.Scheduler) *wire.SchedulerClient {
	t.Helper()
	srv := servertest.Start(t, wire.SchedulerProcessor(s), server.Options{})
	return wire.NewSchedulerClient(pool(t, srv.Addr().String()))
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n%+v\nwant\n%+v", what, got, want)
	}
}

// Every request and answer arrives as it was given, with every field.
func TestSchedulerClient(t *testing.T) {
	fake, ctx := &fakeScheduler{}, context.Background()
	c := dialScheduler(t, fake)

	status, err := c.Status(ctx, "j1")
	must(t, err)
	equal(t, "status", status, filled[api.Status]())
	status, err = c.Cancel(ctx, "j2")
	must(t, err)
	equal(t, "cancel", status, filled[api.Status]())
	status, err = c.Wait(ctx, "j3", 1500*time.Microsecond)
	must(t, err)
	equal(t, "wait", status, filled[api.Status]())
	list, err := c.Query(ctx, 7, "", filled[api.JobFilter]())
	must(t, err)
	equal(t, "list", list, filled[[]api.Status]())
	why, err := c.Explain(ctx, "j4")
	must(t, err)
	equal(t, "explain", why, filled[*api.Explanation]())
	nodes, err := c.Nodes(ctx)
	must(t, err)
	equal(t, "nodes", nodes, filled[[]api.MasterState]())
	groups, err := c.ForgetNode(ctx, "n1")
	must(t, err)
	equal(t, "forgotten by", groups, []int32{0, 3})
	shares, err := c.Shares(ctx)
	must(t, err)
	equal(t, "shares", shares, filled[api.OwnerShares]())
	identity, err := c.Identify(ctx)
	must(t, err)
	equal(t, "identity", identity, filled[api.FrontendIdentity]())
	drain, err := c.DrainNode(ctx, "n1", api.DrainOrder{Deadline: time.Minute, Kill: true})
	must(t, err)
	equal(t, "drain", drain, filled[api.NodeDrain]())
	resumed, err := c.ResumeNode(ctx, "n1")
	must(t, err)
	equal(t, "resume", resumed, filled[api.NodeDrain]())
	chunk, err := c.TaskLog(ctx, filled[wire.LogRequest]())
	must(t, err)
	equal(t, "log", chunk, filled[wire.LogChunk]())
	piece := wire.InputRequest{Job: "j5", Attempt: 2, Node: "n1", Piece: wire.Input{Offset: 3, Data: []byte{1}, Last: true, Wait: time.Second}}
	input, err := c.TaskInput(ctx, piece)
	must(t, err)
	equal(t, "input", input, filled[wire.InputReply]())
	have, err := c.StageFiles(ctx, filled[[]api.StagedFile]())
	must(t, err)
	equal(t, "files", have, []int64{int64(len(filled[[]api.StagedFile]())), 3})
	upTo, err := c.StagePiece(ctx, "sum", 4, []byte("data"))
	must(t, err)
	equal(t, "piece", upTo, int64(8))
	must(t, c.RegisterFrontend(ctx, "app", "h/127.0.0.1:9"), c.FrontendMessage(ctx, "app", pigeonRef, 4, []byte("m")), c.Ping(ctx))
	equal(t, "calls", fake.calls(), []string{
		"status j1", "cancel j2", "wait j3 2ms", `list 7 after "" true`, "explain j4", "nodes", "forget n1", "shares", "identify", "drain n1 {Deadline:1m0s Kill:true}", "resume n1",
		fmt.Sprintf("log %+v", filled[wire.LogRequest]()), fmt.Sprintf("input %+v", piece),
		fmt.Sprintf("stage %+v", filled[[]api.StagedFile]()), `piece of sum at 4: "data"`, "register app at 127.0.0.1:9",
		fmt.Sprintf(`message app="app" %+v status=4 "m"`, pigeonRef),
	})
}

func TestSubmitOfEveryBackend(t *testing.T) {
	fake := &fakeScheduler{}
	c := dialScheduler(t, fake)
	for _, want := range []*api.Request{
		{Key: "k", Backend: api.BackendExec, Limits: api.Limits{Memory: 2 << 30, CPUs: 1.5, Time: time.Minute}, Tasks: []api.Task{{ID: "0", Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"true"}, Env: []string{"K=v"}}}}}},
		{
			App: "app", User: "ada", Description: "d", Key: "k", Frontend: "f", Class: "long", Estimate: 3 * time.Second, EstimateSet: true, AvgMillis: 2.5,
			HT: true, Retries: 3, Trace: api.Trace{Traceparent: "00-1", Tracestate: "s"},
			Tasks: []api.Task{{ID: "a", Payload: api.Payload{Message: []byte{0, 1}}}, {ID: "b", Payload: api.Payload{Message: []byte("x")}}},
		},
		{
			Backend: api.BackendSleep, Estimate: -1, EstimateSet: true,
			Tasks: []api.Task{{ID: "a", Payload: api.Payload{Backend: api.BackendSleep, Sleep: 7}}},
		},
		{
			Backend: api.BackendExec, Estimate: 0, EstimateSet: true, Restartable: true, Stage: filled[[]api.StagedFile](),
			Tasks: []api.Task{{ID: "0", Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{
				Argv: []string{"a", "b"}, Env: []string{"K=v"}, Dir: "/tmp",
			}}}},
		},
	} {
		id, duplicate, err := c.Submit(context.Background(), want)
		must(t, err)
		if id != "id-1" || !duplicate {
			t.Errorf("the answer is %q %v", id, duplicate)
		}
		equal(t, "request", fake.request, want)
	}
}

// What tasks share travels once, and is once in memory. A task's process may lack some of it, which is
// then that of the job's; without the job's it is as it was.
func TestWhatTasksShareTravelsOnce(t *testing.T) {
	fake := &fakeScheduler{}
	srv := servertest.Start(t, wire.SchedulerProcessor(fake), server.Options{})
	conns := pool(t, srv.Addr().String())
	c := wire.NewSchedulerClient(conns)
	script := &api.Exec{Argv: []string{"run.sh", "x"}, Env: []string{"K=v"}, Dir: "/tmp", Script: bytes.Repeat([]byte("x"), 64<<10)}
	want := &api.Request{Backend: api.BackendExec, Tasks: make([]api.Task, 1000)}
	for i := range want.Tasks {
		want.Tasks[i] = api.Task{ID: strconv.Itoa(i), Payload: api.Payload{Backend: api.BackendExec, Exec: script}}
	}
	if n, err := wire.RequestBytes(want, true); err != nil || n > 150_000 {
		t.Errorf("%d bytes, %v", n, err)
	}
	_, _, err := c.SubmitShared(t.Context(), want)
	must(t, err)
	equal(t, "request", fake.request, want)
	if a, b := fake.request.Tasks[0].Payload.Exec, fake.request.Tasks[999].Payload.Exec; a != b {
		t.Error("each task has a process of its own")
	}

	own := *script
	own.Env = []string{"K=other"}
	want.Tasks[7].Payload.Exec = &own
	for name, submit := range map[string]func(context.Context, *api.Request) (string, bool, error){"shared": c.SubmitShared, "whole": c.Submit} {
		r := &api.Request{Backend: api.BackendExec, Tasks: want.Tasks[6:9]}
		_, _, err = submit(t.Context(), r)
		must(t, err)
		equal(t, name, fake.request, r)
	}

	task := func(id string, own *published.TExec) *published.TTaskSpec {
		return &published.TTaskSpec{TaskId: id, Process: own}
	}
	must(t, conns.Do(t.Context(), func(ctx context.Context, client thrift.TClient) error {
		_, err := published.NewSchedulerServiceClient(client).Submit(ctx, &published.TSchedulingRequest{
			Backend: "exec", Process: &published.TExec{Argv: []string{"a"}, Env: []string{"K=v"}, Dir: "/d", Script: []byte("s")},
			Tasks: []*published.TTaskSpec{task("all", nil), task("env", &published.TExec{Env: []string{"K=own"}}), task("own", &published.TExec{Argv: []string{"b"}, Dir: "/e", Script: []byte("t")})},
		})
		return err
	}))
	exec := func(id string, e api.Exec) api.Task {
		return api.Task{ID: id, Payload: api.Payload{Backend: api.BackendExec, Exec: &e}}
	}
	equal(t, "tasks", fake.request.Tasks, []api.Task{
		exec("all", api.Exec{Argv: []string{"a"}, Env: []string{"K=v"}, Dir: "/d", Script: []byte("s")}),
		exec("env", api.Exec{Argv: []string{"a"}, Env: []string{"K=own"}, Dir: "/d", Script: []byte("s")}),
		exec("own", api.Exec{Argv: []string{"b"}, Env: []string{"K=v"}, Dir: "/e", Script: []byte("t")}),
	})
}

// The caller's remaining time travels with a submission and ends the handler's
// context then.
func TestSubmitCarriesTheDeadline(t *testing.T) {
	fake := &fakeScheduler{}
	c := dialScheduler(t, fake)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	one := &api.Request{Tasks: []api.Task{{ID: "0"}}}
	_, _, err := c.Submit(ctx, one)
	must(t, err)
	if fake.until <= 0 || fake.until > time.Hour {
		t.Errorf("an hour became %v", fake.until)
	}
	_, _, err = c.Submit(context.Background(), one)
	must(t, err)
	if fake.until != 0 {
		t.Errorf("no deadline became %v", fake.until)
	}
}

// An *api.Error comes back whole, of every kind.
func TestErrorsComeBack(t *testing.T) {
	fake, ctx := &fakeScheduler{}, context.Background()
	c := dialScheduler(t, fake)
	for _, p := range []api.Problem{api.Invalid, api.NotFound, api.Busy, api.NotReady, api.Internal} {
		want := &api.Error{Problem: p, What: "w", Subject: "s", Tried: "t", Next: "n", RetryAfter: 1500 * time.Millisecond, Address: "host:1"}
		fake.fail(fmt.Errorf("wrapped: %w", want))
		_, err := c.Status(ctx, "j")
		var got *api.Error
		if !errors.As(err, &got) {
			t.Fatalf("%v: %v", p, err)
		}
		equal(t, "error", got, want)
	}
	fake.fail(errors.New("disk on fire"))
	for name, call := range map[string]func() error{
		"submit":  func() error { _, _, err := c.Submit(ctx, &api.Request{}); return err },
		"cancel":  func() error { _, err := c.Cancel(ctx, ""); return err },
		"list":    func() error { _, err := c.List(ctx, 1, ""); return err },
		"wait":    func() error { _, err := c.Wait(ctx, "", 0); return err },
		"explain": func() error { _, err := c.Explain(ctx, ""); return err },
		"nodes":   func() error { _, err := c.Nodes(ctx); return err },
		"log":     func() error { _, err := c.TaskLog(ctx, wire.LogRequest{}); return err },
		"stage":   func() error { _, err := c.StageFiles(ctx, nil); return err },
		"piece":   func() error { _, err := c.StagePiece(ctx, "", 0, nil); return err },
		"input":   func() error { _, err := c.TaskInput(ctx, wire.InputRequest{}); return err },
		"message": func() error { return c.FrontendMessage(ctx, "", wire.TaskRef{}, 0, nil) },
	} {
		var e *api.Error
		if err := call(); !errors.As(err, &e) || e.Problem != api.Internal || !strings.Contains(e.What, "disk on fire") || e.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// broken is a caller whose calls fail with a given error.
type broken struct{ err error }

func (b broken) Do(context.Context, func(context.Context, thrift.TClient) error) error { return b.err }

// Every failure below a call has the four parts, except the caller's own
// cancellation.
func TestCallFailures(t *testing.T) {
	for _, c := range []struct {
		err     error
		problem api.Problem
		what    string
	}{
		{thrift.NewTTransportExceptionFromError(errors.New("connection reset")), api.NotReady, "connection reset"},
		{context.DeadlineExceeded, api.NotReady, "no answer arrived within the deadline"},
		{thrift.NewTApplicationException(thrift.UNKNOWN_METHOD, "Unknown function x"), api.Invalid, "does not offer"},
		{thrift.NewTApplicationException(thrift.INTERNAL_ERROR, "boom"), api.Internal, "boom"},
		{&api.Error{Problem: api.Busy, What: "as it is"}, api.Busy, "as it is"},
	} {
		_, err := wire.NewSchedulerClient(broken{c.err}).Status(context.Background(), "j")
		var e *api.Error
		if !errors.As(err, &e) || e.Problem != c.problem || !strings.Contains(e.What, c.what) {
			t.Errorf("%v became %v", c.err, err)
		}
	}
	_, err := wire.NewSchedulerClient(broken{context.Canceled}).Status(context.Background(), "j")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the caller's cancellation became %v", err)
	}
}

// TestRelayMessageToEarlierVersion: a frontend that does not serve relayMessage gets a backend's message by
// the published method; one that serves it says by its refusal whether to repeat the message.
func TestRelayMessageToEarlierVersion(t *testing.T) {
	for name, serve := range map[string]func(thrift.TProcessor) thrift.TProcessor{
		"this version": func(p thrift.TProcessor) thrift.TProcessor { return p },
		"an earlier version": func(p thrift.TProcessor) thrift.TProcessor {
			p.AddToProcessorMap("relayMessage", unserved{})
			return p
		},
	} {
		fake := &fakeScheduler{}
		srv := servertest.Start(t, serve(wire.SchedulerProcessor(fake)), server.Options{})
		c := wire.NewSchedulerClient(pool(t, srv.Addr().String()))
		send := func() error {
			return c.FrontendMessage(context.Background(), "app", wire.TaskRef{Task: "t"}, 3, []byte("m"))
		}
		must(t, send())
		if got := fake.calls(); len(got) != 1 {
			t.Errorf("%s: the message arrived as %q", name, got)
		}
		fake.fail(&api.Error{Problem: api.Busy, What: "full", RetryAfter: time.Second})
		want := api.Busy
		if name != "this version" {
			want = api.Internal
		}
		err := send()
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != want || !strings.Contains(e.What, "full") || e.RetryAfter != time.Second && want == api.Busy {
			t.Errorf("%s: refused by %v", name, err)
		}
	}
}

// unserved is a method that the access of an earlier version does not know.
type unserved struct{}

// Process implements thrift.TProcessorFunction.
func (unserved) Process(ctx context.Context, seqID int32, in, out thrift.TProtocol) (bool, thrift.TException) {
	x := thrift.NewTApplicationException(thrift.INTERNAL_ERROR, `the method "relayMessage" is not served to anybody here`)
	return true, thrift.WrapTException(errors.Join(
		in.Skip(ctx, thrift.STRUCT), in.ReadMessageEnd(ctx), out.WriteMessageBegin(ctx, "relayMessage", thrift.EXCEPTION, seqID),
		x.Write(ctx, out), out.WriteMessageEnd(ctx), out.Flush(ctx)))
}
