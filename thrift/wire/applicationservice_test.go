package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// fakeHost answers every call about applications with executors, with values in
// which every field is set, and records the calls.
type fakeHost struct {
	record
	application *api.Application
	wants       *api.Wants
	order       *wire.Order
	ends        []api.GrantEnd
}

func (f *fakeHost) RegisterApplication(_ context.Context, a *api.Application) (api.ApplicationReply, error) {
	f.application = a
	return filledReply(), f.note("register")
}

func (f *fakeHost) PutFile(_ context.Context, app, sha256 string, offset int64, data []byte) (int64, error) {
	return 7, f.note("put %s %s %d %q", app, sha256, offset, data)
}

func (f *fakeHost) Want(_ context.Context, w *api.Wants) (api.ApplicationReply, error) {
	f.wants = w
	return filledReply(), f.note("want")
}

func (f *fakeHost) News(_ context.Context, app string, incarnation, version int64, wait time.Duration) (api.News, error) {
	return filled[api.News](), f.note("news %s %d %d %v", app, incarnation, version, wait)
}

func (f *fakeHost) EndApplication(_ context.Context, app string, incarnation int64) error {
	return f.note("end %s %d", app, incarnation)
}

func (f *fakeHost) AttachExecutor(_ context.Context, e wire.ExecutorID, slots int) error {
	return f.note("attach %v %d", e, slots)
}

func (f *fakeHost) AwaitGrants(_ context.Context, e wire.ExecutorID, after int64, wait time.Duration) (api.Grants, error) {
	return filledGrants(), f.note("await %v %d %v", e, after, wait)
}

func (f *fakeHost) EndGrants(_ context.Context, e wire.ExecutorID, ends []api.GrantEnd) error {
	f.ends = ends
	return f.note("ends %v", e)
}

func (f *fakeHost) OrderExecutors(_ context.Context, o *wire.Order) (wire.OrderReply, error) {
	f.order = o
	return filled[wire.OrderReply](), f.note("order")
}

func (f *fakeHost) Holdings(_ context.Context, frontend string, incarnation, version int64, wait time.Duration) (wire.Holdings, error) {
	return filled[wire.Holdings](), f.note("holdings %s %d %d %v", frontend, incarnation, version, wait)
}

func (f *fakeHost) FilePiece(_ context.Context, sha256 string, offset int64, limit int) (wire.Piece, error) {
	return filled[wire.Piece](), f.note("piece %s %d %d", sha256, offset, limit)
}

// Waits travel in milliseconds.
func filledReply() api.ApplicationReply {
	r := filled[api.ApplicationReply]()
	r.Lease = 15 * time.Second
	return r
}

func filledGrants() api.Grants {
	g := filled[api.Grants]()
	for i := range g.Grants {
		g.Grants[i].Lease = time.Duration(i+1) * time.Millisecond
	}
	return g
}

// filledApplication is one in which every field is set and that may be.
func filledApplication() *api.Application {
	a := filled[api.Application]()
	a.Template.Env = []string{"A=1", "B={{TOKEN}}"}
	a.Template.Files[0].SHA256, a.Template.Files[1].SHA256 = strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	a.Template.Reach = "driver:1"
	return &a
}

func filledWants() *api.Wants {
	w := filled[api.Wants]()
	for i := range w.Levels {
		w.Levels[i].Class = "long"
	}
	return &w
}

func TestApplicationService(t *testing.T) {
	fake, ctx := &fakeHost{}, context.Background()
	srv := servertest.Start(t, wire.WithApplications(wire.SchedulerProcessor(&fakeScheduler{}), fake), server.Options{})
	c := wire.NewApplicationClient(pool(t, srv.Addr().String()))

	a := filledApplication()
	reply, err := c.RegisterApplication(ctx, a)
	must(t, err)
	equal(t, "registered", reply, filledReply())
	equal(t, "application", fake.application, a)
	n, err := c.PutFile(ctx, "a", "sum", 3, []byte("xyz"))
	must(t, err)
	equal(t, "here", n, int64(7))
	w := filledWants()
	reply, err = c.Want(ctx, w)
	must(t, err)
	equal(t, "wanted", reply, filledReply())
	equal(t, "wants", fake.wants, w)
	news, err := c.News(ctx, "a", 5, 6, 7*time.Second)
	must(t, err)
	equal(t, "news", news, filled[api.News]())
	must(t, c.EndApplication(ctx, "a", 5))
	equal(t, "calls", fake.calls(), []string{"register", `put a sum 3 "xyz"`, "want", "news a 5 6 7s", "end a 5"})

	// The published methods are served as well.
	_, err = wire.NewSchedulerClient(pool(t, srv.Addr().String())).Status(ctx, "j")
	must(t, err)
}

func TestExecutorService(t *testing.T) {
	fake, ctx := &fakeHost{}, context.Background()
	srv := servertest.Start(t, wire.WithGrants(wire.BackendProcessor(&fakeBackends{}), fake), server.Options{})
	c := wire.NewGrantClient(pool(t, srv.Addr().String()))
	e := wire.ExecutorID{Application: "a", Executor: "1", Token: "t"}
	must(t, c.AttachExecutor(ctx, e, 4))
	grants, err := c.AwaitGrants(ctx, e, 9, time.Second)
	must(t, err)
	equal(t, "grants", grants, filledGrants())
	ends := filled[[]api.GrantEnd]()
	must(t, c.EndGrants(ctx, e, ends))
	equal(t, "ends", fake.ends, ends)
	equal(t, "calls", fake.calls(), []string{"attach {a 1 t} 4", "await {a 1 t} 9 1s", "ends {a 1 t}"})
}

func TestExecutorPeers(t *testing.T) {
	fake, ctx := &fakeHost{}, context.Background()
	codec := wire.NewCodec(newNames(), at(0))
	c := dialPeer(t, wire.PeerPorts{Executors: fake, Files: fake}, codec)
	o := filled[wire.Order]()
	o.Application = *filledApplication()
	reply, err := c.OrderExecutors(ctx, &o)
	must(t, err)
	equal(t, "ordered", reply, filled[wire.OrderReply]())
	equal(t, "order", fake.order, &o)
	h, err := c.Holdings(ctx, "f", 1, 2, time.Second)
	must(t, err)
	equal(t, "holdings", h, filled[wire.Holdings]())
	p, err := c.FilePiece(ctx, "sum", 4, 5)
	must(t, err)
	equal(t, "piece", p, filled[wire.Piece]())
	equal(t, "calls", fake.calls(), []string{"order", "holdings f 1 2 1s", "piece sum 4 5"})

	bare := dialPeer(t, wire.PeerPorts{}, codec)
	for name, call := range map[string]func() error{
		"node monitor": func() error { _, err := bare.OrderExecutors(ctx, &o); return err },
		"frontend":     func() error { _, err := bare.FilePiece(ctx, "sum", 0, 1); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("who is no %s says %v", name, err)
		}
	}
}

// A request that can never be valid is refused before a daemon sees it; a daemon's
// own refusal travels in its four parts.
func TestApplicationServiceRefuses(t *testing.T) {
	fake, ctx := &fakeHost{}, context.Background()
	srv := servertest.Start(t, wire.WithApplications(wire.SchedulerProcessor(&fakeScheduler{}), fake), server.Options{})
	c := wire.NewApplicationClient(pool(t, srv.Addr().String()))
	bad := filledApplication()
	bad.ID = "../x"
	_, err1 := c.RegisterApplication(ctx, bad)
	wants := filledWants()
	wants.Levels[0].Class = "middling"
	_, err2 := c.Want(ctx, wants)
	for _, err := range []error{err1, err2} {
		var e *api.Error
		if !errors.As(err, &e) || e.Problem != api.Invalid || e.Next == "" {
			t.Errorf("answered %v", err)
		}
	}
	if calls := fake.calls(); calls != nil {
		t.Errorf("reached the daemon: %v", calls)
	}
	fake.fail(&api.Error{Problem: api.NotFound, What: "w", Subject: "s", Tried: "t", Next: "n"})
	_, err := c.News(ctx, "a", 1, 1, 0)
	equal(t, "refusal", fmt.Sprint(err), "s: w (while t); n")
}
