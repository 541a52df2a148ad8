package frontend_test

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// disbelieved is the metric of reports without the secret of their launch.
const disbelieved = "pigeon_frontend_reports_disbelieved_total"

// publisher returns a function that publishes batches of reports to a frontend, in order.
func (w *world) publisher(f *frontOf) func(*wire.Batch) {
	w.t.Helper()
	conn, err := notice.Connect(notice.Options{Access: notice.Access{URL: w.nats.URL()}, Name: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	daemontest.Await(w.t, "NATS is reached", conn.Connected)
	codec := daemontest.Codec()
	return func(b *wire.Batch) {
		w.t.Helper()
		data, err := codec.Append(nil, b)
		if err == nil {
			err = conn.Publish(notice.ReportSubject(f.cfg.Cluster, f.cfg.ID, ""), data)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// A report without the secret of the launch ends nothing, by NATS or by Thrift, is not
// acknowledged, and is counted.
func TestForgedReports(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, sleeps("long", 2, 0)) // no node runs it
	w.submit(f, sleeps("mark", 1, 0))
	publish := w.publisher(f)
	forged := func(secret int64) *wire.Batch {
		b := report(f, "long", 0, sched.Done)
		b.Items[0].Secret = secret
		return b
	}
	other := sched.AttemptID{Job: f.JobID("long"), Task: 1, Attempt: 1}
	publish(forged(0))
	publish(forged(1))
	publish(forged(f.Secret(other)))
	publish(report(f, "mark", 0, sched.Done))
	w.done(f, "mark") // it came after them
	r, err := w.peer(f.InternalAddr()).Reports(t.Context(), forged(1))
	if err != nil || len(r.Acknowledged)+len(r.Unknown) != 0 {
		t.Errorf("a forged report by Thrift is answered %+v, %v", r, err)
	}
	if n, _ := f.Metric(t, disbelieved, ""); n != 4 {
		t.Errorf("%v reports were disbelieved, want 4", n)
	}
	if s, err := f.Status(t.Context(), "long"); err != nil || s.Completed != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	publish(report(f, "long", 0, sched.Done))
	publish(report(f, "long", 1, sched.Done))
	w.done(f, "long")
}

// The reports of nodes are believed, whatever launched the tasks: a master, or the frontend.
func TestReportsOfNodesAreBelieved(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"pigeon", "sparrow", "hawk", "kairos:cores=2,q=2,quantum=50ms"} {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t, policy)
			f := c.fronts[0]
			c.submit(f, sleeps("job", 40, time.Millisecond))
			c.done(f, "job")
			if n, _ := f.Metric(t, disbelieved, ""); n != 0 {
				t.Errorf("%v reports were disbelieved", n)
			}
		})
	}
}

// Reports of tasks launched before the frontend was restarted are believed afterwards.
func TestSecretsOutliveARestart(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	id := sched.AttemptID{Job: f.JobID("job"), Attempt: 1}
	before := f.Secret(id)
	f = w.restartFrontend(f)
	if after := f.Secret(id); after != before || before == 0 {
		t.Errorf("the secret is %d, and was %d", after, before)
	}
	if other := w.frontend(func(c *frontend.Config) { c.ID = "another" }); other.Secret(id) == before {
		t.Error("two frontends have one key")
	}
}

// While a node is of a version that knows no secrets, reports without one are believed; wrong
// ones are not.
func TestReportsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	f := w.frontend()
	w.submit(f, sleeps("job", 2, 0))
	publish := w.publisher(f)
	old := daemontest.Node(t, "old", m.Addr())
	old.Register(wire.Hello{})
	daemontest.Await(t, "the frontend knows of it", func() bool { return !f.AllKnowSecrets() })
	for task := range int32(2) {
		b := report(f, "job", task, sched.Done)
		b.Items[0].Secret = 1
		publish(b)
		b.Items[0].Secret = 0
		publish(b)
	}
	if s := w.done(f, "job"); s.State != api.StateCompleted {
		t.Errorf("%+v", s)
	}
	if n, _ := f.Metric(t, disbelieved, ""); n != 2 {
		t.Errorf("%v reports were disbelieved, want 2", n)
	}
}
