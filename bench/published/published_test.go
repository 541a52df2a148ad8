package published

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

const content = "0 1 2.0 2.0\n"

func small() *Trace {
	sum := sha256.Sum256([]byte(content))
	return &Trace{Name: "small", Repo: "o/r", Ref: "abc", Path: "p/SMALL", Bytes: int64(len(content)), SHA: hex.EncodeToString(sum[:]), Like: "gen:exp"}
}

// A trace is fetched once, from its commit and path, and only with the right content.
func TestFetch(t *testing.T) {
	asked, text := 0, content
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/o/r/abc/p/SMALL" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text)) // the client sees what is missing
	}))
	defer s.Close()
	tr, dir := small(), filepath.Join(t.TempDir(), "new")
	for i, want := range []bool{true, false} {
		if fetched, err := tr.Fetch(t.Context(), s.URL, dir); err != nil || fetched != want || asked != 1 {
			t.Errorf("%d: %v, %v, asked %d times", i, fetched, err, asked)
		}
	}
	if got, err := os.ReadFile(tr.File(dir)); err != nil || string(got) != content {
		t.Errorf("%q, %v", got, err)
	}
	for name, c := range map[string]struct {
		spoil func(*Trace, string) string // returns the served file
		want  string
	}{
		"other content":  {func(*Trace, string) string { return strings.Replace(content, "1", "2", 1) }, "SHA-256"},
		"too long":       {func(*Trace, string) string { return content + strings.Repeat("x", 1<<20) }, "at least 13 bytes"},
		"not there":      {func(tr *Trace, _ string) string { tr.Path = "q"; return content }, "404"},
		"no public file": {func(tr *Trace, _ string) string { tr.Repo, tr.From = "", "in a folder somewhere"; return content }, "in a folder somewhere"},
		"another file here": {func(tr *Trace, dir string) string {
			if err := os.WriteFile(tr.File(dir), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			return content
		}, "is not the published file"},
	} {
		tr, dir := small(), t.TempDir()
		text = c.spoil(tr, dir)
		if fetched, err := tr.Fetch(t.Context(), s.URL, dir); fetched || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || name != "another file here" && len(left) > 0 {
			t.Errorf("%s left %v, %v", name, left, err)
		}
	}
}

// Every trace has what is needed to find it and to know it, and a generator that resembles it.
func TestTraces(t *testing.T) {
	for _, tr := range Traces() {
		if (tr.Repo == "") == (tr.From == "") || tr.Repo != "" && (len(tr.Ref) != 40 || tr.Path == "") || len(tr.SHA) != 64 || tr.Bytes == 0 || tr.About == "" {
			t.Errorf("%+v", tr)
		}
		if _, err := workload.Open(tr.Like + ",jobs=20"); err != nil {
			t.Errorf("%s: %v", tr.Name, err)
		}
		if again, err := Find(tr.Name); err != nil || again != tr {
			t.Errorf("%s is found as %+v, %v", tr.Name, again, err)
		}
	}
	if _, err := Find("ngo_5"); err == nil || !strings.Contains(err.Error(), `did you mean "ngo_50"?`) {
		t.Errorf("%v", err)
	}
	if _, err := Find("xyzzy"); err == nil || strings.Contains(err.Error(), "mean") {
		t.Errorf("%v", err)
	}
}
