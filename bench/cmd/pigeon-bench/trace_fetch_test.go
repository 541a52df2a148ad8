package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/published"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// A download that differs from the published trace is not kept; list shows the traces that are
// there.
func TestTraceFetch(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		_, _ = w.Write([]byte("0 1 1.0 1.0\n")) // the client sees what is missing
	}))
	defer s.Close()
	dir := t.TempDir()
	code, out, errs := pigeonBench(t, "trace", "fetch", "ngo_50", "--dir", dir, "--from", s.URL)
	if code != cli.ExitFailed || out != "" || !strings.Contains(errs, "SHA-256") || len(asked) != 1 || !strings.HasPrefix(asked[0], "/r5by/pigeon/") || !strings.HasSuffix(asked[0], "/pigeon_trace/NGO_trace50") {
		t.Errorf("status %d, asked for %q: %s%s", code, asked, out, errs)
	}
	if code, _, errs := pigeonBench(t, "trace", "fetch", "ngo_5", "--dir", dir); code != cli.ExitUsage || !strings.Contains(errs, `did you mean "ngo_50"?`) {
		t.Errorf("status %d: %s", code, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "exp_50.tr"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(tracesVariable, dir)
	for _, l := range lines[publishedTrace](t, succeed(t, "trace", "list", "-o", "json")) {
		want := published.Absent
		if l.Name == "exp_50" {
			want = published.Other
		}
		if l.State != want || l.File != filepath.Join(dir, l.Name+".tr") || l.SHA == "" {
			t.Errorf("%+v, want it %s", l, want)
		}
	}
	if out := succeed(t, "trace", "list"); !strings.Contains(out, "github.com/r5by/pigeon") || !strings.Contains(out, "gen:yahoo,load=0.7") {
		t.Errorf("%s", out)
	}
}
