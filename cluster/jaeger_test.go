package cluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest/ports"
)

// jaegerVariable names the program of Jaeger for TestJaeger; 'make test-jaeger' sets it.
const jaegerVariable = "PIGEON_JAEGER"

// jaeger is a real Jaeger that keeps traces in memory.
type jaeger struct {
	t          *testing.T
	otlp, http string // host:port
	log        string // path
}

// startJaeger starts one on free ports. Another process may take a port between its choice and its use,
// then others are tried.
func startJaeger(t *testing.T, program string) *jaeger {
	t.Helper()
	const tries = 5
	for range tries {
		j := &jaeger{t: t, otlp: ports.Address(t), http: ports.Address(t), log: filepath.Join(t.TempDir(), "log")}
		if j.start(program) {
			return j
		}
	}
	t.Fatalf("no Jaeger serves after %d tries", tries)
	return nil
}

// start reports whether Jaeger answers; it does not when it ended before.
func (j *jaeger) start(program string) bool {
	log, err := os.Create(j.log)
	if err != nil {
		j.t.Fatal(err)
	}
	arguments := []string{"--collector.otlp.enabled=true", "--collector.otlp.grpc.host-port=" + j.otlp, "--query.http-server.host-port=" + j.http, "--log-level=warn"}
	for _, flag := range []string{
		"collector.otlp.http.host-port", "collector.grpc-server.host-port", "collector.http-server.host-port", "query.grpc-server.host-port", "admin.http.host-port",
	} {
		arguments = append(arguments, "--"+flag+"="+ports.Address(j.t))
	}
	c := exec.Command(program, arguments...) //nolint:noctx // it ends with the test's cleanup
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		j.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // it is killed
		close(ended)
	}()
	j.t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-ended
		_ = log.Close() // only its end of a file
	})
	serves := false
	await.Until(j.t, "Jaeger answers, or has ended", func() bool {
		select {
		case <-ended:
			return true
		default:
			_, serves = j.get("/api/services")
			return serves
		}
	}, func() string {
		text, err := os.ReadFile(j.log)
		return fmt.Sprintf("its log: %s %v", text, err)
	})
	return serves
}

func (j *jaeger) get(path string) (body []byte, ok bool) {
	q, err := http.NewRequestWithContext(j.t.Context(), http.MethodGet, "http://"+j.http+path, nil)
	if err != nil {
		j.t.Fatal(err)
	}
	q.Close = true
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, false
	}
	defer func() { _ = answer.Body.Close() }() // only read
	body, err = io.ReadAll(answer.Body)
	return body, err == nil && answer.StatusCode == http.StatusOK
}

// spans asks Jaeger's API for all traces. A fault that Jaeger itself finds in a span is an error.
func (j *jaeger) spans(most int) (list []span) {
	j.t.Helper()
	body, ok := j.get(fmt.Sprintf("/api/traces?service=pigeon-frontend&lookback=1h&limit=%d", most))
	if !ok {
		j.t.Fatalf("Jaeger does not list traces: %s", body)
	}
	var answer struct {
		Data []struct {
			TraceID string
			Spans   []struct {
				SpanID, OperationName string
				References            []struct{ RefType, SpanID string }
				Tags                  []struct {
					Key   string
					Value any
				}
				Warnings []string
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		j.t.Fatal(err)
	}
	for _, tree := range answer.Data {
		for _, s := range tree.Spans {
			for _, w := range s.Warnings {
				// A frontend that is started again records the last roots of the former process again.
				if s.OperationName != "job" || !strings.HasPrefix(w, "duplicate span IDs") {
					j.t.Errorf("Jaeger warns of a span %q: %s", s.OperationName, w)
				}
			}
			one := span{trace: tree.TraceID, id: s.SpanID, name: s.OperationName, attributes: map[string]string{}}
			for _, r := range s.References {
				if r.RefType == "CHILD_OF" {
					one.parent = r.SpanID
				}
			}
			for _, tag := range s.Tags {
				one.attributes[tag.Key] = fmt.Sprint(tag.Value)
			}
			one.failed = one.attributes["error"] == "true"
			list = append(list, one)
		}
	}
	return list
}

// TestJaeger: 1,000 jobs in a real Jaeger, while a master, a node and a frontend are killed: a tree for
// each job, by Jaeger's own API.
func TestJaeger(t *testing.T) {
	program := os.Getenv(jaegerVariable)
	if program == "" {
		t.Skipf("%s names no program of Jaeger; 'make test-jaeger' builds one", jaegerVariable)
	}
	const jobs = 1000
	j := startJaeger(t, program)
	c := startTraced(t, j.otlp)
	began := time.Now()
	c.run(jobs, func() []span { return j.spans(2 * jobs) })
	if err := c.Close(); err != nil { // exports
		t.Fatal(err)
	}
	t.Logf("%d jobs in %.1f s", jobs, time.Since(began).Seconds())
	// Jaeger stores what it has acknowledged a moment later.
	var list []span
	await.Until(t, "Jaeger has every root", func() bool {
		list = j.spans(2 * jobs)
		roots := map[string]bool{}
		for _, s := range list {
			if s.name == "job" {
				roots[s.attributes["job"]] = true
			}
		}
		return len(roots) >= jobs+1+undisturbed
	}, func() string { return fmt.Sprintf("it has %d spans", len(list)) })
	forest(t, list, jobs)
}
