package nodemonitor

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// TestRecording: the recorded inputs of a live node's cores cause the same actions
// again.
func TestRecording(t *testing.T) {
	w := newWorld(t, true)
	folder := t.TempDir()
	n := w.start(func(c *Config) { c.Record = folder })
	n.deliver(w.launch(0, 0, attemptOf(1, 0), sleepFor(0)), w.launch(1, 5, attemptOf(1, 1), sleepFor(0)))
	w.await("one ended and one was refused", func() bool {
		return find(w.noticed, sched.Report, attemptOf(1, 0)) != nil && find(w.linked, sched.Refused, attemptOf(1, 1)) != nil
	})
	n.deliver(w.launch(1, 1, attemptOf(1, 1), sleepFor(time.Hour)))
	p := startProcess(t, n)
	p.register("spark", 1)
	w.slotsReported(3, "")
	n.deliver(w.launch(2, 0, attemptOf(1, 2), sleepFor(time.Hour)))
	n.until("both run", func(o *owner) bool { return started(o) == 2 })
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	f, err := os.Open(filepath.Join(folder, "node-n1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	steps, err := runloop.Verify(f, func(a sched.Addr) sched.Core {
		return pigeon.NewWorker(sched.WorkerConfig{Self: a, Seed: 1, Master: sched.Addr{Role: sched.Master, ID: testGroup}})
	})
	// Two registrations under an epoch, a reservation, four launches, three ends.
	if err != nil || steps < 10 {
		t.Errorf("after %d steps: %v", steps, err)
	}
}

// spanReceiver is an OTLP receiver.
type spanReceiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans map[string]*otlp.Span // by name
}

func (r *spanReceiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range req.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				r.spans[s.Name] = s
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// TestTrace: the spans launched and running of a sampled job are below the master's,
// and the report carries the context on; a job that is not sampled has none.
func TestTrace(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &spanReceiver{spans: map[string]*otlp.Span{}}
	s := grpc.NewServer()
	collector.RegisterTraceServiceServer(s, r)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	defer func() { s.Stop(); <-served }()

	w := newWorld(t, true)
	n := w.start(func(c *Config) { c.OTLP = l.Addr().String() })
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	sampled, not := w.launch(0, 0, attemptOf(1, 0), shell("exit 1")), w.launch(1, 0, attemptOf(2, 0), sleepFor(0))
	sampled.Trace, not.Trace = api.Trace{Traceparent: parent + "01"}, api.Trace{Traceparent: parent + "00"}
	n.deliver(sampled, not)
	w.await("both ended", func() bool { return len(w.noticed) == 2 })
	report, other := find(w.noticed, sched.Report, attemptOf(1, 0)), find(w.noticed, sched.Report, attemptOf(2, 0))
	if err := n.stop(); err != nil { // exports
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	launched, running := r.spans["launched"], r.spans["running"]
	if len(r.spans) != 2 || launched == nil || running == nil {
		t.Fatalf("the receiver got %v", r.spans)
	}
	if got := string(launched.ParentSpanId); got != "\xb7\xad\x6b\x71\x69\x20\x33\x31" {
		t.Errorf("launched hangs below %x", got)
	}
	if string(running.ParentSpanId) != string(launched.SpanId) || launched.EndTimeUnixNano != running.StartTimeUnixNano || running.Status.Code != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("running is %v, launched %v", running, launched)
	}
	attributes := map[string]string{}
	for _, a := range running.Attributes {
		attributes[a.Key] = a.Value.String()
	}
	for key, want := range map[string]string{"job": "job-", "task": "0", "attempt": "1", "class": "short", "node": "n1", "slot": "0", "outcome": "failed"} {
		if !strings.Contains(attributes[key], want) {
			t.Errorf("attribute %s is %q, want %q", key, attributes[key], want)
		}
	}
	if c := telemetry.Carrier(report.Trace); !c.Sampled() || !strings.Contains(c.Traceparent, "0af7651916cd43dd8448eb211c80319c") {
		t.Errorf("the report carries %+v", report.Trace)
	}
	if other.Trace != (api.Trace{}) {
		t.Errorf("the report of a job that is not sampled carries %+v", other.Trace)
	}
}

// TestMetrics: the page has the slots by kind and state, and what was done.
func TestMetrics(t *testing.T) {
	w := newWorld(t, true)
	n := w.start(nil)
	n.deliver(w.launch(0, 0, attemptOf(1, 0), sleepFor(time.Hour)), w.launch(1, 0, attemptOf(1, 1), sleepFor(0)))
	n.until("one is done", func(o *owner) bool { return started(o) == 1 && keptBy(o) == 0 })
	_, page := n.get("/metrics")
	for _, line := range []string{
		`workers{kind="general",state="busy"} 1`, `workers{kind="general",state="idle"} 1`, `workers{kind="reserved",state="idle"} 0`,
		`launches_total 2`, `attempts_ended_total{outcome="done"} 1`, `reports_sent_total{sending="first"} 1`, `reports_acknowledged_total 1`,
		`kept_results 0`, `run_seconds_count{class="short"} 1`, `backends 0`, `nats_connected 1`, `nats_unsent_total 0`,
	} {
		if !strings.Contains(page, "pigeon_nodemonitor_"+line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
}

// TestMetricsWithoutADaemon: the metrics for the documentation can be gathered.
func TestMetricsWithoutADaemon(t *testing.T) {
	families, err := Metrics().Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	for _, name := range []string{"workers", "launches_total", "kept_results", "backends", "nats_connected", "grants_ended_total", "messages_relayed_total", "core_messages_total"} {
		if !names["pigeon_nodemonitor_"+name] {
			t.Errorf("%s is missing among %d families", name, len(families))
		}
	}
}
