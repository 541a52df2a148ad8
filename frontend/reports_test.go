package frontend_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// report is a batch of one report, as sent by the node that received the attempt.
func report(f *frontOf, job string, task int32, o sched.Outcome) *wire.Batch {
	id := sched.AttemptID{Job: f.JobID(job), Task: task, Attempt: 1}
	n := wire.Ref{Role: sched.Worker, Name: "unknown"}
	to := wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}
	return &wire.Batch{Sender: n, Receiver: to, Address: "127.0.0.1:1", Incarnation: 9, Sequence: 1, Items: []wire.Item{{
		From: n, To: to, Msg: sched.Message{Kind: sched.Report, Job: f.JobID(job), First: task, Attempt: 1, Outcome: o},
		Extra: wire.Extra{ResultNumber: 77, Secret: f.Secret(id)},
	}}}
}

// A report by Thrift is answered when it is journaled; one that comes again is
// acknowledged and only counted; a job that is unknown is named.
func TestReportsByThrift(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, sleeps("job", 3, 0)) // no node runs it: the reports are the test's
	p := w.peer(f.InternalAddr())
	for i, o := range []sched.Outcome{sched.Done, sched.Failed, sched.Done, sched.Done} {
		task := int32(min(i, 2))
		r, err := p.Reports(t.Context(), report(f, "job", task, o))
		want := sched.AttemptID{Job: f.JobID("job"), Task: task, Attempt: 1}
		if err != nil || len(r.Acknowledged) != 1 || r.Acknowledged[0] != want || len(r.Unknown) != 0 {
			t.Fatalf("report %d is answered %+v, %v", i, r, err)
		}
	}
	s, err := f.Wait(t.Context(), "job", 30*time.Second)
	if err != nil || s.State != api.StateFailed || s.Completed != 2 || s.Failed != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if n := f.Repeated(); n != 1 {
		t.Errorf("%d results are counted as repeated, want 1", n)
	}
	if r, err := p.Reports(t.Context(), report(f, "unknown", 0, sched.Done)); err != nil || len(r.Unknown) != 1 || r.Unknown[0] != f.JobID("unknown") {
		t.Errorf("a report of an unknown job is answered %+v, %v", r, err)
	}
	f = w.restartFrontend(f)
	if s, err := f.Status(t.Context(), "job"); err != nil || s.State != api.StateFailed || s.Failed != 1 {
		t.Errorf("after a restart: %+v, %v", s, err)
	}
	if r, err := w.peer(f.InternalAddr()).Reports(t.Context(), report(f, "job", 0, sched.Done)); err != nil || len(r.Acknowledged) != 1 {
		t.Errorf("a report of a job that ended before the restart is answered %+v, %v", r, err)
	}
}

// Reports that are meant for a frontend that served at the address earlier are refused:
// this one knows none of its jobs, and its answer would have them killed.
func TestReportsForAnother(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	b := report(f, "job", 0, sched.Done)
	b.Receiver.Name = "another"
	b.Items[0].To.Name = "another"
	r, err := w.peer(f.InternalAddr()).Reports(t.Context(), b)
	var parts *api.Error
	if !errors.As(err, &parts) || parts.Problem != api.Invalid || !strings.Contains(err.Error(), "another") || len(r.Unknown)+len(r.Acknowledged) > 0 {
		t.Errorf("it is answered %+v, %v", r, err)
	}
	if r, err := w.peer(f.InternalAddr()).Reports(t.Context(), report(f, "job", 0, sched.Done)); err != nil || r.Sender != f.cfg.ID {
		t.Errorf("its own is answered %+v, %v", r, err)
	}
}

// A report by NATS is acknowledged by NATS, every time it comes.
func TestReportsByNATS(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, sleeps("job", 1, 0))
	conn, err := notice.Connect(notice.Options{Access: notice.Access{URL: w.nats.URL()}, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	daemontest.Await(t, "NATS is reached", conn.Connected)
	codec := daemontest.Codec()
	acks := make(chan *wire.Batch, 10)
	if err := conn.Subscribe(notice.AckSubject(f.cfg.Cluster, "unknown"), func(data []byte) {
		if b, err := codec.Decode(data); err == nil {
			acks <- b
		}
	}); err != nil {
		t.Fatal(err)
	}
	data, err := codec.Append(nil, report(f, "job", 0, sched.Done))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range [][]byte{[]byte("rubbish"), data, data} {
		if err := conn.Publish(notice.ReportSubject(f.cfg.Cluster, f.cfg.ID, ""), d); err != nil {
			t.Fatal(err)
		}
	}
	w.done(f, "job")
	for got := 0; got < 2; {
		b := <-acks
		if b.Address != f.InternalAddr() || b.Sender.Name != f.cfg.ID {
			t.Errorf("acknowledged by %+v", b)
		}
		if len(b.ResultNumbers) != len(b.Acknowledged) || b.ResultNumbers[0] != 77 {
			t.Errorf("the acknowledgement repeats the numbers %v, want 77", b.ResultNumbers)
		}
		got += len(b.Acknowledged)
	}
	if n := f.Repeated(); n != 1 {
		t.Errorf("%d results are counted as repeated, want 1", n)
	}
}

// Without NATS everything is sent by Thrift.
func TestWithoutNATS(t *testing.T) {
	w := &world{t: t}
	w.master()
	w.node(0, 4)
	f := w.frontend()
	for i := range 5 {
		w.submit(f, sleeps(fmt.Sprint("job-", i), 20, 0))
	}
	for i := range 5 {
		w.done(f, fmt.Sprint("job-", i))
	}
}

// NATS goes away in the middle and comes back: nothing is lost.
func TestNATSRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.nats.URL()
	for g := range 2 {
		w.master()
		w.node(g, 8)
	}
	f := w.frontend()
	var all sync.WaitGroup
	half := make(chan struct{}, 100)
	for i := range 60 {
		all.Go(func() {
			id := fmt.Sprint("job-", i)
			if _, _, err := f.Submit(t.Context(), sleeps(id, 20, time.Millisecond)); err != nil {
				t.Error(err)
			}
			s, err := f.Wait(t.Context(), id, 30*time.Second)
			if err != nil || s.Completed != 20 || s.Attempts != 20 {
				t.Errorf("%+v, %v", s, err)
			}
			half <- struct{}{}
		})
	}
	for range 10 {
		<-half
	}
	if err := w.nats.Close(); err != nil {
		t.Error(err)
	}
	for range 10 {
		<-half
	}
	e, err := notice.StartEmbeddedAs(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	all.Wait()
}

// A node that stops gives its tasks back, and the frontend places them elsewhere. That
// counts against no task, however often it happens, and uses none of its retries.
func TestNodesStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	started := t.TempDir()
	w.submit(f, script("job", `mktemp "$1/XXXXXX" && test $(ls "$1" | wc -l) = 5 || sleep 3600`, started))
	for attempt := range 4 {
		n := w.node(0, 1, func(c *nodemonitor.Config) { c.Grace = 0 })
		w.awaitFiles(started, attempt+1)
		n.process.Stop()
	}
	w.node(0, 1)
	s, err := f.Wait(t.Context(), "job", 30*time.Second)
	if err != nil || s.State != api.StateCompleted || s.Attempts != 5 {
		t.Errorf("%+v, %v", s, err)
	}
}

// explain reports that a task that failed waits for its next attempt, and until when.
func TestExplainNextAttempt(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.node(0, 1)
	r := script("job", "exit 1", "")
	r.Retries = 100
	w.submit(f, r)
	var why string
	daemontest.Await(t, "it waits", func() bool {
		e, err := f.Explain(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		why = strings.Join(e.Why, " ")
		return strings.Contains(why, "1 of its tasks waits for the next attempt")
	})
	if !strings.Contains(why, "task 0 until ") || strings.Contains(why, "held at frontend") {
		t.Errorf("%s", why)
	}
}
