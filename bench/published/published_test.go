package published

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

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

// The generators resemble the published traces as closely as bench/published/README.md says, where the
// traces are on this machine.
func TestDistancesOfGenerators(t *testing.T) {
	dir := os.Getenv("PIGEON_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "traces")
	}
	seen := false
	for _, tr := range Traces() {
		state, err := tr.In(dir)
		if err != nil {
			t.Fatal(err)
		}
		if state != Sound {
			continue
		}
		seen = true
		file, err := workload.Open(tr.File(dir))
		if err != nil {
			t.Fatal(err)
		}
		like, err := workload.Open(tr.Like)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range Distances(file, like) {
			t.Logf("%s %s: %.3f", tr.Name, d.Of, d.KS)
			limit := 0.1
			if tr.Name == "goog_sub" && strings.HasPrefix(d.Of, "time between") {
				limit = 0.7 // the sample's jobs come in bursts of whole seconds, the generator's do not
			} else if tr.Name == "goog_sub" && d.Of == "seconds of a task" {
				limit = 0.25 // a few jobs of thousands of tasks have most of them
			}
			if d.KS > limit {
				t.Errorf("%s and %s differ in %s by %.3f, more than %v", tr.Name, tr.Like, d.Of, d.KS, limit)
			}
		}
	}
	if !seen {
		t.Skip("the published traces are not in " + dir + "; 'pigeon-bench trace fetch' fetches them")
	}
}

// The distance is that of its definition, and that of a sample to itself is 0.
func TestKolmogorovSmirnov(t *testing.T) {
	if d := KolmogorovSmirnov([]float64{1, 2, 3, 4}, []float64{3, 4, 5, 6}); d != 0.5 {
		t.Errorf("%v, want 0.5", d)
	}
	sample := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 9), func(i int) float64 { return float64(i) }), 0, 20)
	rapid.Check(t, func(t *rapid.T) {
		x, y := sample.Draw(t, "x"), sample.Draw(t, "y")
		slices.Sort(x)
		slices.Sort(y)
		want := 0.0
		if len(x) > 0 && len(y) > 0 {
			for at := range 10 {
				want = max(want, math.Abs(share(x, float64(at))-share(y, float64(at))))
			}
		} else if len(x) != len(y) {
			want = 1
		}
		if got := KolmogorovSmirnov(x, y); math.Abs(got-want) > 1e-12 || KolmogorovSmirnov(x, x) != 0 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// share is that of a sample that is at most at.
func share(sample []float64, at float64) float64 {
	n := 0
	for _, v := range sample {
		if v <= at {
			n++
		}
	}
	return float64(n) / float64(len(sample))
}

// A workload of one job has no time between jobs, and no percentiles of it.
func TestPercentilesOfNothing(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{{Durations: []int64{1e9}}}}
	for _, d := range Distances(w, w) {
		if missing := math.IsNaN(float64(d.A.P50)) && math.IsNaN(float64(d.B.P99)); missing != (d.Of == "time between jobs over its mean") {
			t.Errorf("%+v", d)
		}
	}
}
