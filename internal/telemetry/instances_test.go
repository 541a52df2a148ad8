package telemetry

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	testTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	sampled   = "00-" + testTrace + "-00f067aa0ba902b7-01"
	dropped   = "00-" + testTrace + "-00f067aa0ba902b7-00"
)

// page returns what a scrape of instances in the OpenMetrics format answers.
func page(t *testing.T, list Instances) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	promhttp.HandlerFor(list, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// TestInstances: two daemons of a role and one of another serve one page, which the format
// allows; metrics of the process are there once.
func TestInstances(t *testing.T) {
	var list Instances
	for _, name := range []string{"frontend-0", "frontend-1"} {
		m := NewMetrics("frontend")
		m.Counter("jobs_total", "Jobs.").Add(3)
		list = append(list, Instance{name, m.Registry})
	}
	m := NewMetrics("master")
	m.GaugeFuncs("queued", "Tasks.", Label{"class", []string{"short", "long"}}, func(class int) float64 { return float64(5 * class) })
	list = append(list, Instance{"master-0", m.Registry})
	for range 2 { // the label is not added to what the registries keep
		text := page(t, list)
		for _, want := range []string{
			`pigeon_frontend_jobs_total{instance="frontend-0"} 3`, `pigeon_frontend_jobs_total{instance="frontend-1"} 3`,
			`pigeon_master_queued{class="long",instance="master-0"} 5`,
		} {
			if strings.Count(text, want) != 1 {
				t.Errorf("%q is not there once in\n%s", want, text)
			}
		}
		if n := strings.Count(text, "\ngo_goroutines "); n != 1 {
			t.Errorf("go_goroutines is there %d times", n)
		}
	}
}

// TestExemplars: a sampled job's trace is the exemplar of its bucket, another's is not, and
// both are observed.
func TestExemplars(t *testing.T) {
	m := NewMetrics("frontend")
	seconds := m.Latencies("wait_seconds", "Waits.", "class", "short")[0]
	ObserveTraced(seconds, 0.15, Carrier{Traceparent: sampled})
	ObserveTraced(seconds, 15, Carrier{Traceparent: dropped})
	ObserveTraced(seconds, 150, Carrier{})
	text := page(t, Instances{{"frontend-0", m.Registry}})
	if n := strings.Count(text, "trace_id="); n != 1 || !strings.Contains(text, `le="0.2"} 1 # {trace_id="`+testTrace+`",span_id="00f067aa0ba902b7"} 0.15`) && !strings.Contains(text, `le="0.2"} 1 # {span_id="00f067aa0ba902b7",trace_id="`+testTrace+`"} 0.15`) {
		t.Errorf("%d exemplars:\n%s", n, text)
	}
	if !strings.Contains(text, `pigeon_frontend_wait_seconds_count{class="short",instance="frontend-0"} 3`) {
		t.Errorf("not three are observed:\n%s", text)
	}
}

// TestLogTrace: a line of the log names the trace of a sampled job, and nothing for others.
func TestLogTrace(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	LogTrace(log, Carrier{Traceparent: sampled}).Info("one")
	LogTrace(log, Carrier{Traceparent: dropped}).Info("two", "n", 2)
	first, second, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(first, `"trace_id":"`+testTrace+`"`) || strings.Contains(second, "trace_id") || !strings.Contains(second, `"n":2`) {
		t.Errorf("%s", out.String())
	}
}
