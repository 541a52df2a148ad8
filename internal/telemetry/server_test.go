package telemetry

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// longHeader returns 0 when the connection was closed on the rest of the header.
func longHeader(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Long", strings.Repeat("x", 2*maxHeaderBytes))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

func TestServerAnswers(t *testing.T) {
	m := NewMetrics("master")
	launches := m.Counters("launches_total", "Tasks launched.", "class", "short", "long")
	launches[1].Add(3)
	m.Latencies("queueing_seconds", "From ready to start.", "class", "short", "long")[0].Observe(0.0003)
	m.WatchTracing(Off())
	var ready atomic.Bool
	s := NewServer(ServerOptions{Gatherer: m.Registry, Ready: func() error {
		if ready.Load() {
			return nil
		}
		return errors.New("2 of 3 nodes registered")
	}})
	s.Handle("GET /status", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, 200, `{"group":1}`) }))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	base := "http://" + s.Addr()
	if !strings.HasPrefix(s.Addr(), "127.0.0.1:") {
		t.Errorf("listens on %s by default, want loopback", s.Addr())
	}
	check := func(path string, status int, parts ...string) {
		t.Helper()
		got, body := get(t, base+path)
		if got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
		for _, p := range parts {
			if !strings.Contains(body, p) {
				t.Errorf("%s lacks %q:\n%.2000s", path, p, body)
			}
		}
	}
	check("/healthz", 200, "ok")
	check("/readyz", 503, "not ready: 2 of 3 nodes registered")
	ready.Store(true)
	check("/readyz", 200, "ready")
	for _, path := range []string{"/healthz", "/readyz"} {
		answer, err := http.Get(base + path) //nolint:noctx // of this process
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close() // it was not read
		if got, want := answer.Header.Get(ProcessHeader), strconv.Itoa(os.Getpid()); got != want {
			t.Errorf("%s names process %q, want %s", path, got, want)
		}
	}
	check("/status", 200, `{"group":1}`)
	check("/absent", 404)
	check("/metrics", 200,
		`pigeon_master_launches_total{class="long"} 3`,
		`pigeon_master_launches_total{class="short"} 0`,
		`pigeon_master_queueing_seconds_bucket{class="short",le="0.0002"} 0`,
		`pigeon_master_queueing_seconds_bucket{class="short",le="0.0005"} 1`,
		`pigeon_master_queueing_seconds_bucket{class="short",le="1000"} 1`,
		"pigeon_master_spans_dropped_total 0", "process_open_fds", "go_goroutines")
	if status := longHeader(t, base+"/healthz"); status != 431 && status != 0 {
		t.Errorf("a header beyond the limit returns %d, want 431 or a closed connection", status)
	}
}

func TestPortInUse(t *testing.T) {
	first := NewServer(ServerOptions{})
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Stop()
	second := NewServer(ServerOptions{Addr: first.Addr()})
	defer second.Stop()
	if err := second.Start(); err == nil || !strings.Contains(err.Error(), first.Addr()) {
		t.Errorf("got %v", err)
	}
}

// TestStopContract: blocks until gone, safe twice and at once, safe unstarted;
// goroutines that goleak finds at the end of the package would be the server's.
func TestStopContract(t *testing.T) {
	unstarted := NewServer(ServerOptions{})
	unstarted.Stop()
	unstarted.Stop()
	if err := unstarted.Start(); err == nil {
		t.Error("a stopped server starts")
	}
	for range 50 {
		s := NewServer(ServerOptions{})
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err == nil {
			t.Error("starts twice")
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				s.Stop()
				select {
				case <-s.served:
				default:
					t.Error("Stop returned before the server was gone")
				}
			})
		}
		wg.Wait()
	}
}

func TestLogger(t *testing.T) {
	var b bytes.Buffer
	log, err := NewLogger(&b, "warn", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("hidden")
	log.Warn("shown", "job", 7)
	if s := b.String(); strings.Contains(s, "hidden") || !strings.Contains(s, `"job":7`) {
		t.Errorf("logged %s", s)
	}
	if log, err = NewLogger(&b, "", ""); err != nil || !log.Enabled(t.Context(), slog.LevelInfo) || log.Enabled(t.Context(), slog.LevelDebug) {
		t.Errorf("the default is not text at info: %v", err)
	}
	for _, c := range [][2]string{{"loud", "text"}, {"info", "xml"}} {
		if _, err := NewLogger(&b, c[0], c[1]); err == nil {
			t.Errorf("%v is accepted", c)
		}
	}
}
