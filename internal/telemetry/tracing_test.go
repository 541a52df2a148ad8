package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"pgregory.net/rapid"
)

// receiver is an OTLP receiver on loopback.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu       sync.Mutex
	services []string
	spans    map[string]*otlp.Span // by name
}

func (r *receiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range req.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.name" {
				r.services = append(r.services, a.Value.GetStringValue())
			}
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				r.spans[s.Name] = s
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func startReceiver(t *testing.T) (*receiver, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{spans: map[string]*otlp.Span{}}
	s := grpc.NewServer()
	collector.RegisterTraceServiceServer(s, r)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Errorf("receiver: %v", err)
		}
	})
	return r, l.Addr().String()
}

func setup(t *testing.T, o Options) *Tracing {
	t.Helper()
	tr, err := Setup(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func shutdown(t *testing.T, tr *Tracing) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := tr.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// TestTreeAcrossDaemons: a span started in another daemon from a carrier is a
// child of the one that was injected, at a real receiver.
func TestTreeAcrossDaemons(t *testing.T) {
	r, addr := startReceiver(t)
	frontend := setup(t, Options{Service: "pigeon-frontend", Endpoint: addr, Ratio: 1})
	master := setup(t, Options{Service: "pigeon-master", Endpoint: addr, Ratio: 0}) // the decision is the frontend's

	ctx, job := frontend.Root(t.Context(), Carrier{}, "job")
	_, task := master.Start(Inject(ctx).Context(t.Context()), "task")
	task.End()
	job.End()
	shutdown(t, frontend)
	shutdown(t, master)
	shutdown(t, master) // twice is safe

	jobSpan, taskSpan := r.spans["job"], r.spans["task"]
	if jobSpan == nil || taskSpan == nil {
		t.Fatalf("received %v", r.spans)
	}
	if !bytes.Equal(taskSpan.ParentSpanId, jobSpan.SpanId) || !bytes.Equal(taskSpan.TraceId, jobSpan.TraceId) || len(jobSpan.ParentSpanId) != 0 {
		t.Errorf("task is no child of job: %v %v", taskSpan, jobSpan)
	}
	if got := strings.Join(r.services, ","); got != "pigeon-frontend,pigeon-master" {
		t.Errorf("services %s", got)
	}
	if s := frontend.Stats(); s != (Stats{Ended: 1, Exported: 1}) {
		t.Errorf("stats %+v", s)
	}
}

// TestNamesThatAreNotText: a name that is not UTF-8 costs no span, neither its own nor the others of its
// batch.
func TestNamesThatAreNotText(t *testing.T) {
	r, addr := startReceiver(t)
	tr := setup(t, Options{Service: "pigeon-frontend", Endpoint: addr, Ratio: 1})
	for name, app := range map[string]string{"odd": "a\xff\xfeb", "plain": "etl"} {
		_, span := tr.Root(t.Context(), Carrier{}, name, trace.WithAttributes(attribute.String("app", app), attribute.Int("tasks", 3)))
		span.End()
	}
	shutdown(t, tr)
	if got, want := tr.Stats(), (Stats{Ended: 2, Exported: 2}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
	for name, want := range map[string]string{"odd": "a\ufffdb", "plain": "etl"} {
		if got := r.spans[name]; got == nil || len(got.Attributes) != 2 || got.Attributes[0].Value.GetStringValue() != want {
			t.Errorf("span %s: received %v, want the application %q", name, got, want)
		}
	}
}

func TestSamplingIsDecidedOnce(t *testing.T) {
	keep := newTracing(Options{Service: "keep", Ratio: 1}, tracetest.NewNoopExporter(), 8)
	drop := newTracing(Options{Service: "drop", Ratio: 0}, tracetest.NewNoopExporter(), 8)
	defer shutdown(t, keep)
	defer shutdown(t, drop)

	ctx, span := drop.Root(t.Context(), Carrier{}, "job")
	if span.IsRecording() || Inject(ctx) != (Carrier{}) {
		t.Errorf("a job that was not sampled: recorded %t, carried on as %+v", span.IsRecording(), Inject(ctx))
	}
	if _, span := keep.Start(Inject(ctx).Context(t.Context()), "task"); span.IsRecording() {
		t.Error("a task of an unsampled job is recorded by a daemon whose own ratio is 1")
	}
	if _, span := keep.Start(Carrier{Traceparent: "nonsense"}.Context(t.Context()), "task"); span.IsRecording() {
		t.Error("a malformed carrier began a tree of its own")
	}
	yes := Carrier{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	no := Carrier{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	if _, span := drop.Root(t.Context(), yes, "job"); !span.IsRecording() || !yes.Sampled() {
		t.Error("the application's choice to sample is ignored")
	}
	if _, span := keep.Root(t.Context(), no, "job"); span.IsRecording() || no.Sampled() {
		t.Error("the application's choice not to sample is ignored")
	}
	if _, span := keep.Root(t.Context(), Carrier{Traceparent: "nonsense"}, "job"); !span.IsRecording() {
		t.Error("a malformed context of an application switches tracing off")
	}
}

func TestInjectUnsampledAllocatesNothing(t *testing.T) {
	ctx := Carrier{}.Context(t.Context())
	if n := testing.AllocsPerRun(100, func() { _ = Inject(ctx) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// stuckExporter holds every export until it is released or given up.
type stuckExporter struct{ release chan error }

func (e stuckExporter) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	select {
	case err := <-e.release:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
func (e stuckExporter) Shutdown(context.Context) error { return nil }

// TestEverySpanIsAccounted: Ended = Exported + Dropped + Failed + Queued, for
// any queue, with a receiver that stalls, fails and recovers.
func TestEverySpanIsAccounted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		queue := rapid.IntRange(1, 9).Draw(rt, "queue")
		spans := rapid.IntRange(0, 40).Draw(rt, "spans")
		answers := rapid.SliceOfN(rapid.Bool(), 40, 40).Draw(rt, "answers")
		e := stuckExporter{make(chan error)}
		tr := newTracing(Options{Service: "s", Ratio: 1}, e, queue)
		for range spans {
			_, span := tr.Root(context.Background(), Carrier{}, "x")
			span.End()
		}
		before := tr.Stats()
		if before.Dropped != uint64(max(0, spans-queue)) || before.Queued != uint64(min(spans, queue)) {
			rt.Fatalf("queue of %d, %d spans, stalled receiver: %+v", queue, spans, before)
		}
		stop, answered := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(answered)
			for _, ok := range answers {
				err := errors.New("refused")
				if ok {
					err = nil
				}
				select {
				case e.release <- err:
				case <-stop:
					return
				}
			}
		}()
		shutdown(t, tr)
		close(stop)
		<-answered
		s := tr.Stats()
		if s.Queued != 0 || s.Ended != uint64(spans) || s.Ended != s.Exported+s.Dropped+s.Failed {
			rt.Fatalf("not accounted: %+v", s)
		}
	})
}

func TestShutdownGivesUpAtItsDeadline(t *testing.T) {
	tr := newTracing(Options{Service: "s", Ratio: 1}, stuckExporter{make(chan error)}, 8)
	_, span := tr.Root(t.Context(), Carrier{}, "x")
	span.End()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if s := tr.Stats(); s != (Stats{Ended: 1, Failed: 1}) {
		t.Errorf("stats %+v", s)
	}
}

func TestAbsentReceiver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	tr := setup(t, Options{Service: "s", Endpoint: addr, Ratio: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, span := tr.Root(t.Context(), Carrier{}, "x")
	span.End()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tr.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if s := tr.Stats(); s != (Stats{Ended: 1, Failed: 1}) || !strings.Contains(log.String(), "spans could not be exported") {
		t.Errorf("stats %+v, log %s", s, log.String())
	}
}

func TestOff(t *testing.T) {
	tr := setup(t, Options{Service: "s", Ratio: 1})
	ctx, span := tr.Root(t.Context(), Carrier{}, "x")
	span.End()
	if span.IsRecording() || Inject(ctx) != (Carrier{}) || tr.Stats() != (Stats{}) {
		t.Errorf("tracing is off: recorded %t, carried on as %+v, stats %+v", span.IsRecording(), Inject(ctx), tr.Stats())
	}
	shutdown(t, tr)
}

func TestRatioIsChecked(t *testing.T) {
	for _, ratio := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := Setup(t.Context(), Options{Service: "s", Ratio: ratio}); err == nil {
			t.Errorf("ratio %v is accepted", ratio)
		}
	}
}

// FuzzCarrier: whatever a peer sends, nothing panics, and an accepted parent is a
// valid span context that survives another hop.
func FuzzCarrier(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=b")
	f.Add("ff-00000000000000000000000000000000-0000000000000000-00", strings.Repeat("x", 600))
	f.Fuzz(func(t *testing.T, parent, state string) {
		c := Carrier{parent, state}
		again := Inject(c.Context(context.Background()))
		if c.Sampled() != (again.Traceparent != "") {
			t.Fatalf("%+v: sampled %v, carried on as %+v", c, c.Sampled(), again)
		}
		if c.Sampled() && again.spanContext().TraceID() != c.spanContext().TraceID() {
			t.Fatalf("%+v became %+v", c, again)
		}
	})
}

func BenchmarkSpan(b *testing.B) {
	for name, ratio := range map[string]float64{"sampled": 1, "unsampled": 0} {
		b.Run(name, func(b *testing.B) {
			tr := newTracing(Options{Service: "s", Ratio: ratio}, tracetest.NewNoopExporter(), maxQueuedSpans)
			defer func() { _ = tr.Shutdown(context.Background()) }()
			for b.Loop() {
				ctx, span := tr.Root(context.Background(), Carrier{}, "job")
				_ = Inject(ctx)
				span.End()
			}
		})
	}
}
