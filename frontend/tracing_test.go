package frontend_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// receiver is an OTLP receiver that keeps all spans.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []*otlp.Span
}

func (r *receiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func newReceiver(t *testing.T) (*receiver, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{}
	s := grpc.NewServer()
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

// tree is a job's spans.
type tree struct {
	root     *otlp.Span
	children map[string][]*otlp.Span // by the parent's id
	spans    int
}

func text(s *otlp.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

func number(s *otlp.Span, key string) int64 {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetIntValue()
		}
	}
	return -1
}

// trees sorts the spans into jobs and fails for one that has no place: an orphan,
// or a second root.
func (r *receiver) trees(t *testing.T) map[string]*tree {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	byTrace, ids := map[string]*tree{}, map[string]*otlp.Span{}
	for _, s := range r.spans {
		id := string(s.SpanId)
		if ids[id] != nil {
			t.Errorf("span %q came twice", s.Name)
		}
		ids[id] = s
		tr := byTrace[string(s.TraceId)]
		if tr == nil {
			tr = &tree{children: map[string][]*otlp.Span{}}
			byTrace[string(s.TraceId)] = tr
		}
		tr.spans++
		if len(s.ParentSpanId) > 0 {
			tr.children[string(s.ParentSpanId)] = append(tr.children[string(s.ParentSpanId)], s)
			continue
		}
		if tr.root != nil {
			t.Errorf("two roots in one trace: %q and %q", tr.root.Name, s.Name)
		}
		tr.root = s
	}
	for _, s := range r.spans {
		if parent := ids[string(s.ParentSpanId)]; len(s.ParentSpanId) > 0 && (parent == nil || string(parent.TraceId) != string(s.TraceId)) {
			t.Errorf("orphan: span %q of job %q", s.Name, text(s, "job"))
		}
	}
	jobs := map[string]*tree{}
	for _, tr := range byTrace {
		if tr.root != nil {
			jobs[text(tr.root, "job")] = tr
		}
	}
	return jobs
}

// stageNames are the stages of an attempt, in their order.
var stageNames = []string{"lost", "queued", "launched", "running", "reported"}

// stages lists the attempts of a job as "task/attempt: stage stage ...". All stages are below the
// job, except running, which is below launched.
func (tr *tree) stages(t *testing.T) []string {
	t.Helper()
	byAttempt := map[string][]*otlp.Span{}
	add := func(s *otlp.Span) string {
		attempt := fmt.Sprintf("%d/%d", number(s, "task"), number(s, "attempt"))
		byAttempt[attempt] = append(byAttempt[attempt], s)
		if text(s, "job") != text(tr.root, "job") {
			t.Errorf("span %q of %s is of another job", s.Name, attempt)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano || s.StartTimeUnixNano < tr.root.StartTimeUnixNano {
			t.Errorf("span %q of %s is from %d to %d, the job began at %d", s.Name, attempt, s.StartTimeUnixNano, s.EndTimeUnixNano, tr.root.StartTimeUnixNano)
		}
		return attempt
	}
	for _, s := range tr.children[string(tr.root.SpanId)] {
		attempt := add(s)
		for _, below := range tr.children[string(s.SpanId)] {
			if below.Name != "running" || s.Name != "launched" || add(below) != attempt {
				t.Errorf("%q of %s is below %q", below.Name, attempt, s.Name)
			}
		}
	}
	var list []string
	for attempt, spans := range byAttempt {
		slices.SortStableFunc(spans, func(a, b *otlp.Span) int {
			return cmp.Compare(slices.Index(stageNames, a.Name), slices.Index(stageNames, b.Name))
		})
		line := attempt + ":"
		for _, s := range spans {
			line += " " + s.Name
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

// The spans of a workload over NATS, masters, nodes and a frontend are one tree
// for each job: below its root each attempt's stages, queued, launched, running, reported;
// also of attempts that were lost with their node or failed and were retried.
func TestTraces(t *testing.T) {
	t.Parallel()
	r, address := newReceiver(t)
	w := newWorld(t)
	w.otlp = address
	for g := range 2 {
		w.master()
		w.node(g, 4)
	}
	f := w.frontend()
	for i := range 50 {
		job := sleeps(fmt.Sprintf("job-%02d", i), 1+i%6, time.Millisecond)
		job.Owner, job.Priority = fmt.Sprint("team/o", i), int32(i) //nolint:gosec // small
		w.submit(f, job)
	}
	w.submit(f, &api.Request{Key: "retried", Backend: api.BackendExec, Retries: 1, Tasks: []api.Task{{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", "exit 1"}}}}}})
	for i := range 50 {
		w.done(f, fmt.Sprintf("job-%02d", i))
	}
	if s, err := f.Wait(t.Context(), "retried", 30*time.Second); err != nil || s.State != api.StateFailed {
		t.Fatalf("%+v, %v", s, err)
	}
	stopAll(t, w, f)
	jobs := r.trees(t)
	if len(jobs) != 51 {
		t.Fatalf("%d jobs were traced, want 51", len(jobs))
	}
	whole := " queued launched running reported"
	for i := range 50 {
		id := fmt.Sprintf("job-%02d", i)
		got := jobs[id].stages(t)
		var want []string
		for task := range 1 + i%6 {
			want = append(want, fmt.Sprintf("%d/1:%s", task, whole))
		}
		if jobs[id].root.Name != "job" || text(jobs[id].root, "state") != "completed" || !slices.Equal(got, want) {
			t.Errorf("%s (%s): %q, want %q", id, text(jobs[id].root, "state"), got, want)
		}
	}
	for i := range 50 {
		root := jobs[fmt.Sprintf("job-%02d", i)].root
		if priority := number(root, "pigeon.priority"); i > 0 && priority != int64(i) || i == 0 && priority != -1 {
			t.Errorf("the span of job %d has the priority %d", i, priority)
		}
	}
	for _, s := range r.spans {
		var i int
		if _, err := fmt.Sscanf(text(s, "job"), "job-%d", &i); err == nil && text(s, "pigeon.owner") != fmt.Sprint("team/o", i) {
			t.Errorf("span %q of job %d is for %q", s.Name, i, text(s, "pigeon.owner"))
		}
	}
	if got, want := jobs["retried"].stages(t), []string{"0/1:" + whole, "0/2:" + whole}; !slices.Equal(got, want) {
		t.Errorf("retried: %q, want %q", got, want)
	}
}

// Late binding has the same tree: instead of the time in a master's queue it has the time until a
// worker has asked.
func TestTracesOfLateBinding(t *testing.T) {
	r, address := newReceiver(t)
	w := newWorld(t)
	w.otlp = address
	w.master(func(c *master.Config) { c.Policy = "sparrow" })
	w.node(0, 3, func(c *nodemonitor.Config) { c.Policy = "sparrow" })
	f := w.frontend(func(c *frontend.Config) { c.Policy = "sparrow" })
	for i := range 10 {
		w.submit(f, sleeps(fmt.Sprint("job-", i), 2, time.Millisecond))
	}
	for i := range 10 {
		w.done(f, fmt.Sprint("job-", i))
	}
	stopAll(t, w, f)
	jobs := r.trees(t)
	if len(jobs) != 10 {
		t.Fatalf("%d jobs were traced, want 10", len(jobs))
	}
	for id, job := range jobs {
		whole := " queued launched running reported"
		if got, want := job.stages(t), []string{"0/1:" + whole, "1/1:" + whole}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// An attempt that is lost with its node and its successor are siblings; a node
// that cannot be asked any more leaves the stage "lost".
func TestTraceOfALostAttempt(t *testing.T) {
	r, address := newReceiver(t)
	w := newWorld(t)
	w.otlp = address
	w.master()
	n := w.node(0, 1, func(c *nodemonitor.Config) { c.Grace = 0 })
	f := w.frontend()
	started := t.TempDir()
	w.submit(f, script("job", `test -e "$1/first" || { touch "$1/first"; sleep 3600; }`, started))
	w.awaitFiles(started, 1)
	n.process.Stop()
	w.node(0, 1)
	s := w.done(f, "job")
	stopAll(t, w, f)
	tr := r.trees(t)["job"]
	if tr == nil || s.Attempts != 2 {
		t.Fatalf("%+v", s)
	}
	got := tr.stages(t)
	if want := "0/2: queued launched running reported"; !slices.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	first := slices.DeleteFunc(got, func(line string) bool { return line[:3] != "0/1" })
	slices.Sort(first)
	reported, lost := []string{"0/1: queued launched running reported"}, []string{"0/1: lost queued launched running"}
	if !slices.Equal(first, reported) && !slices.Equal(first, lost) {
		t.Errorf("the lost attempt: %q, want %q or %q", first, reported, lost)
	}
}

// With a ratio whole jobs are in or out, and stay so over a restart.
func TestTraceRatio(t *testing.T) {
	t.Parallel()
	r, address := newReceiver(t)
	w := newWorld(t)
	w.otlp = address
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.TraceRatio = 0.5 })
	for i := range 40 {
		w.submit(f, sleeps(fmt.Sprintf("job-%02d", i), 3, 0))
	}
	f = w.restartFrontend(f)
	w.node(0, 4)
	for i := range 40 {
		w.done(f, fmt.Sprintf("job-%02d", i))
	}
	stopAll(t, w, f)
	jobs := r.trees(t)
	if len(jobs) < 5 || len(jobs) > 35 {
		t.Errorf("%d of 40 jobs were traced with a ratio of 0.5", len(jobs))
	}
	for id, tr := range jobs {
		// The span "job" is one although two processes worked on it; all stages are below it, also
		// that the first attempts were given up.
		if tr.spans != 1+3*5 || tr.root.Name != "job" || text(tr.root, "state") != "completed" {
			t.Errorf("%s has %d spans, want 16; its root is %v", id, tr.spans, tr.root)
		}
	}
}

// An application's own decision counts; without tracing nothing is exported.
func TestTraceOfTheApplication(t *testing.T) {
	r, address := newReceiver(t)
	w := newWorld(t)
	w.otlp = address
	w.master()
	w.node(0, 1)
	f := w.frontend(func(c *frontend.Config) { c.TraceRatio = 0 })
	const sampled, not = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203332-00"
	for key, parent := range map[string]string{"sampled": sampled, "not": not, "undecided": ""} {
		job := sleeps(key, 1, 0)
		job.Trace.Traceparent = parent
		w.done(f, w.submit(f, job))
	}
	stopAll(t, w, f)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans) != 5 {
		t.Errorf("%d spans, want 5", len(r.spans))
	}
	for _, s := range r.spans {
		if fmt.Sprintf("%x", s.TraceId) != sampled[3:35] || text(s, "job") != "sampled" {
			t.Errorf("%q of job %q", s.Name, text(s, "job"))
		}
		if s.Name == "job" && fmt.Sprintf("%x", s.ParentSpanId) != sampled[36:52] {
			t.Errorf("the job is below %x", s.ParentSpanId)
		}
	}
}

func TestTracingOff(t *testing.T) {
	r, _ := newReceiver(t)
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f := w.frontend()
	job := sleeps("job", 1, 0)
	job.Trace.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	w.done(f, w.submit(f, job))
	stopAll(t, w, f)
	if len(r.spans) != 0 {
		t.Errorf("%d spans without tracing", len(r.spans))
	}
}

// stopAll ends every daemon of the world, so that all spans are exported.
func stopAll(t *testing.T, w *world, f *frontOf) {
	t.Helper()
	f.process.Stop()
	for _, p := range w.running {
		p.Stop()
	}
}

// Spans leave the cluster for a collector whose readers have no role in it: they carry no
// arguments, no environment and no output, also of a job that failed and is retried.
func TestSpansTellNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	r, address := newReceiver(t)
	w := newWorld(t)
	w.otlp = address
	w.master()
	w.node(0, 1)
	f := w.frontend(func(c *frontend.Config) { c.TraceRatio = 1 })
	job := script("failed", "echo "+secret+" >&2; exit 3", secret)
	job.Retries = 1
	job.Tasks[0].Payload.Exec.Env = []string{"PASSWORD=" + secret}
	w.submit(f, job)
	s, err := f.Wait(t.Context(), "failed", time.Minute)
	if err != nil || s.State != api.StateFailed || !strings.Contains(s.Reason, secret) {
		t.Fatalf("%+v, %v", s, err)
	}
	stopAll(t, w, f)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans) < 5 {
		t.Errorf("%d spans", len(r.spans))
	}
	for _, span := range r.spans {
		if strings.Contains(span.String(), secret) {
			t.Errorf("%v", span)
		}
	}
}
