package frontend_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/audit"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// decisions returns the lines of an audit log.
func decisions(t *testing.T, path string) (all []audit.Entry) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e audit.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// A submission is logged in one line with its submitter and how that one was proven; a look at
// the job is not logged, nor are the messages of daemons; a request for a page under another
// site's name is.
func TestAuditLog(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := w.frontend(func(c *frontend.Config) { c.AuditLog, c.HTTP = path, "127.0.0.1:0" })
	pool, err := client.New(client.Options{Name: "the test", Address: f.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	s := wire.NewSchedulerClient(pool)
	if _, _, err := s.Submit(t.Context(), sleeps("job", 4, 0)); err != nil {
		t.Fatal(err)
	}
	w.done(f, "job")
	if _, err := s.Status(t.Context(), "job"); err != nil {
		t.Error(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+f.HTTP()+"/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Close = "evil.example", true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("by another name: %s, %v", answer.Status, err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	f.process.Stop()
	got := decisions(t, path)
	if len(got) != 2 {
		t.Fatalf("%d lines: %+v", len(got), got)
	}
	submitted, refused := got[0], got[1]
	if submitted.Action != "submit" || submitted.On != "job job" || !submitted.Allowed || submitted.Proof != "kernel" || submitted.Daemon != "frontend "+f.cfg.ID || !strings.HasPrefix(submitted.Remote, "127.0.0.1:") {
		t.Errorf("the submission is written as %+v", submitted)
	}
	if refused.Action != "GET /status" || refused.Allowed || !strings.Contains(refused.Reason, "evil.example") {
		t.Errorf("the refusal is written as %+v", refused)
	}
	if n, _ := f.Metric(t, "pigeon_frontend_audit_decisions_total", "written"); n != 2 {
		t.Errorf("%v decisions are counted as written", n)
	}
	daemontest.Await(t, "the file is private", func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().Perm() == 0o600
	})
}
