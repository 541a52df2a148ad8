package cluster_test

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// span is a span as a receiver has it.
type span struct {
	trace, id, parent, name string
	failed                  bool
	attributes              map[string]string
}

// attempt names the attempt that a span is of.
func (s *span) attempt() string { return s.attributes["task"] + "/" + s.attributes["attempt"] }

// spanReceiver is an OTLP receiver that keeps all spans.
type spanReceiver struct {
	collector.UnimplementedTraceServiceServer
	mu   sync.Mutex
	list []span
}

func (r *spanReceiver) Export(_ context.Context, q *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range q.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				attributes := map[string]string{}
				for _, a := range s.Attributes {
					attributes[a.Key] = a.Value.GetStringValue()
					if _, number := a.Value.GetValue().(*common.AnyValue_IntValue); number {
						attributes[a.Key] = fmt.Sprint(a.Value.GetIntValue())
					}
				}
				r.list = append(r.list, span{
					trace: fmt.Sprintf("%x", s.TraceId), id: fmt.Sprintf("%x", s.SpanId), parent: fmt.Sprintf("%x", s.ParentSpanId), name: s.Name,
					failed: s.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR, attributes: attributes,
				})
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// spans returns the spans that have arrived so far.
func (r *spanReceiver) spans() []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

func receiveSpans(t *testing.T) (*spanReceiver, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, s := &spanReceiver{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(s, r)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r, l.Addr().String()
}

// traced is a cluster whose jobs are traced, while its daemons are killed.
type traced struct {
	*cluster.Cluster
	t    *testing.T
	jobs *wire.SchedulerClient
}

// run submits the given number of jobs of two tasks, kills a master, a node and a frontend at a
// quarter, half and three quarters of them, and returns when all have ended. The job "long" loses
// attempts with the node; the frontend, which records them, is killed when received returns such a
// loss: spans that it has not exported are lost with it.
func (c *traced) run(jobs int, received func() []span) {
	c.t.Helper()
	for i := range jobs {
		c.submit(fmt.Sprintf("job-%04d", i), 2, 10*time.Millisecond)
		switch i {
		case jobs / 4:
			c.killed(cluster.Master)
		case jobs / 2:
			c.submit("long", longTasks, time.Second)
			await.Until(c.t, "the long job runs on all nodes", func() bool {
				s, err := c.jobs.Status(c.t.Context(), "long")
				return err == nil && s.Running == longTasks
			})
			c.killed(cluster.NodeMonitor)
		case 3 * jobs / 4:
			await.Until(c.t, "the loss of one of its attempts is exported", func() bool {
				return slices.ContainsFunc(received(), func(s span) bool { return isLoss(s) && s.attributes["job"] == "long" })
			})
			c.killed(cluster.Frontend)
		}
	}
	c.ended("long")
	for i := range jobs {
		c.ended(fmt.Sprintf("job-%04d", i))
	}
	for i := range undisturbed {
		key := fmt.Sprintf("%s%d", undisturbedKey, i)
		c.submit(key, 2, 10*time.Millisecond)
		c.ended(key)
	}
}

// The last jobs run after all daemons have come back.
const (
	undisturbed    = 10
	undisturbedKey = "undisturbed-"
)

const (
	tracedNodes = 2
	tracedSlots = 4
	longTasks   = tracedNodes * tracedSlots
)

func (c *traced) killed(r cluster.Role) {
	c.t.Helper()
	if err := c.Kill(r, 0); err != nil {
		c.t.Fatal(err)
	}
	if err := c.Restart(r, 0); err != nil {
		c.t.Fatal(err)
	}
}

// submit submits a job until a frontend has accepted it.
func (c *traced) submit(key string, tasks int, sleep time.Duration) {
	c.t.Helper()
	q := &api.Request{Backend: api.BackendSleep, Key: key, Tasks: make([]api.Task, tasks)}
	for i := range q.Tasks {
		q.Tasks[i].Payload = api.Payload{Backend: api.BackendSleep, Sleep: sleep}
	}
	var err error
	await.Until(c.t, key+" is accepted", func() bool {
		_, _, err = c.jobs.Submit(c.t.Context(), q)
		return err == nil
	}, func() string { return fmt.Sprint(err) })
}

func (c *traced) ended(key string) {
	c.t.Helper()
	var s api.Status
	var err error
	await.Until(c.t, key+" has completed", func() bool {
		s, err = c.jobs.Wait(c.t.Context(), key, 10*time.Second)
		return err == nil && s.State == api.StateCompleted
	}, func() string { return fmt.Sprintf("%+v %v", s, err) })
}

func startTraced(t *testing.T, otlp string) *traced {
	t.Helper()
	c := start(t, cluster.Spec{Groups: []int{tracedNodes}, Slots: tracedSlots, Isolation: cluster.Process, OTLP: otlp, TraceRatio: 1})
	return &traced{c, t, scheduler(t, c.Frontends()[0])}
}

// forest checks the spans of what run runs: a tree for each job, whose root is its only span "job"; no
// orphan; attempts as siblings; and every stage of the jobs that no kill has disturbed. A killed daemon
// loses the spans that it has not exported, about a second of its own stages.
func forest(t *testing.T, list []span, jobs int) {
	t.Helper()
	byID, byTrace := map[string]span{}, map[string][]span{}
	for _, s := range list {
		if have, found := byID[s.trace+s.id]; found {
			// A frontend that is started again records the last spans of the former process again.
			if !reflect.DeepEqual(have, s) {
				t.Errorf("one span is %+v and %+v", have, s)
			}
			continue
		}
		byID[s.trace+s.id] = s
		byTrace[s.trace] = append(byTrace[s.trace], s)
	}
	names := map[string]bool{}
	attempts, whole := 0, 0
	for _, spans := range byTrace {
		key := root(t, spans, byID)
		names[key] = true
		stages := map[string][]string{}
		for _, s := range spans {
			if s.name == "job" {
				continue
			}
			if s.attributes["job"] != key {
				t.Errorf("the span %+v is in the tree of %q", s, key)
			}
			stages[s.attempt()] = append(stages[s.attempt()], s.name)
		}
		for _, have := range stages {
			attempts++
			slices.Sort(have)
			if slices.Equal(have, []string{"launched", "queued", "reported", "running"}) {
				whole++
			} else if strings.HasPrefix(key, undisturbedKey) {
				t.Errorf("an attempt of %s has the stages %q", key, have)
			}
		}
		if strings.HasPrefix(key, undisturbedKey) && len(stages) != 2 {
			t.Errorf("%s has the attempts %v", key, stages)
		}
		if key == "long" {
			lost(t, spans)
		}
	}
	if want := jobs + 1 + undisturbed; len(names) != want || len(byTrace) != want {
		t.Errorf("%d jobs in %d trees, want %d", len(names), len(byTrace), want)
	}
	t.Logf("%d spans, %d attempts, %d of them with every stage", len(byID), attempts, whole)
}

// root checks that the spans of a trace are one tree below a span "job", and returns its job.
func root(t *testing.T, spans []span, byID map[string]span) (job string) {
	t.Helper()
	for _, s := range spans {
		switch parent, found := byID[s.trace+s.parent]; {
		case s.parent == "" && s.name == "job" && job == "":
			job = s.attributes["job"]
			if s.attributes["state"] != "completed" || s.failed {
				t.Errorf("the root of a job that completed is %+v", s)
			}
		case s.parent == "":
			t.Errorf("%+v is a second root, in addition to %q", s, job)
		case !found:
			t.Errorf("orphan: %+v", s)
		case s.name == "running" && parent.name != "launched", s.name != "running" && parent.name != "job":
			t.Errorf("%+v is below %+v", s, parent)
		}
	}
	if job == "" {
		t.Errorf("a tree has no root: %+v", spans)
	}
	return job
}

func isLoss(s span) bool { return s.name == "lost" }

// lost checks that a killed node's attempts are recorded as lost, and have siblings.
func lost(t *testing.T, spans []span) {
	t.Helper()
	given, again := 0, 0
	for _, s := range spans {
		if isLoss(s) {
			given++
			if !s.failed || s.attributes["reason"] == "" || s.attributes["outcome"] == "" {
				t.Errorf("a lost attempt is %+v", s)
			}
		}
		if s.name == "running" && s.attributes["attempt"] != "1" {
			again++
		}
	}
	if given == 0 || again == 0 {
		t.Errorf("%d attempts were lost and %d ran again: %+v", given, again, spans)
	}
}

// TestTracesUnderKills: a master, a node and a frontend are killed while jobs run, and no span of any
// daemon is an orphan.
func TestTracesUnderKills(t *testing.T) {
	t.Parallel()
	r, address := receiveSpans(t)
	c := startTraced(t, address)
	jobs := 400
	if testing.Short() {
		jobs = 80
	}
	c.run(jobs, r.spans)
	if err := c.Close(); err != nil { // exports
		t.Fatal(err)
	}
	forest(t, r.spans(), jobs)
}
