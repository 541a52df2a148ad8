package webpage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// fakeSource answers what it holds.
type fakeSource struct {
	groups   []api.MasterState
	jobs     []api.Status
	err      error
	output   string
	requests atomic.Int32
}

func (f *fakeSource) Nodes(context.Context) ([]api.MasterState, error) { return f.groups, f.err }

func (f *fakeSource) List(context.Context, int, string) ([]api.Status, error) {
	f.requests.Add(1)
	return f.jobs, f.err
}

func (f *fakeSource) Status(_ context.Context, job string) (api.Status, error) {
	for _, j := range f.jobs {
		if j.Job == job {
			return j, nil
		}
	}
	return api.Status{}, &api.Error{Problem: api.NotFound, What: "no such job"}
}

func (f *fakeSource) Explain(ctx context.Context, job string) (*api.Explanation, error) {
	s, err := f.Status(ctx, job)
	return &api.Explanation{Status: s, Why: []string{"why " + job}}, err
}

func (f *fakeSource) TaskLog(_ context.Context, r wire.LogRequest) (wire.LogChunk, error) {
	return wire.LogChunk{Data: []byte(f.output), Size: int64(len(f.output)), Ended: true, Attempt: r.Attempt}, nil
}

func (f *fakeSource) Shares(ctx context.Context) (api.OwnerShares, error) {
	return api.OwnerShares{Groups: []api.GroupOwners{{Owners: []api.OwnerShare{{Owner: "asked by " + identity.From(ctx).Name}}}}}, nil
}

func handler(t *testing.T, sources ...*fakeSource) *Page {
	t.Helper()
	var places []Place
	for i, s := range sources {
		places = append(places, Place{Name: fmt.Sprint("f-", i), Source: s})
	}
	p := New(places...)
	t.Cleanup(p.Close)
	return p
}

func get(t *testing.T, h http.Handler, path, host string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const here = "127.0.0.1:8080"

// TestState: jobs of all sources, newest first; groups once, from the first that
// has them.
func TestState(t *testing.T) {
	away := &fakeSource{err: errors.New("away")}
	a := &fakeSource{groups: []api.MasterState{{Group: 0, Workers: 4}}, jobs: []api.Status{{Job: "old", Submitted: 1}, {Job: "new", Submitted: 3}}}
	b := &fakeSource{groups: []api.MasterState{{Group: 0, Workers: 4}}, jobs: []api.Status{{Job: "middle", Submitted: 2}}}
	w := get(t, handler(t, away, a, b), "/api/state", here)
	var s State
	if err := json.Unmarshal(w.Body.Bytes(), &s); w.Code != http.StatusOK || err != nil {
		t.Fatalf("%d %v", w.Code, err)
	}
	var order []string
	for _, j := range s.Jobs {
		order = append(order, j.Job)
	}
	if got := strings.Join(order, " "); got != "new middle old" || len(s.Groups) != 1 || s.Groups[0].Workers != 4 || s.Time == 0 {
		t.Errorf("%+v", s)
	}
}

// TestStateIsAskedOnce: many browsers cause one request.
func TestStateIsAskedOnce(t *testing.T) {
	s := &fakeSource{}
	h := handler(t, s)
	for range 20 {
		if w := get(t, h, "/api/state", here); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"groups":[]`) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if n := s.requests.Load(); n > 4 { // one, unless this machine stops for a while
		t.Errorf("requests %d times for 20 answers", n)
	}
}

func TestSourceAway(t *testing.T) {
	w := get(t, handler(t, &fakeSource{err: errors.New("no answer")}), "/api/state", here)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "no answer") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestPage: the page is served, in parts, and loads nothing from elsewhere.
func TestPage(t *testing.T) {
	h := handler(t, &fakeSource{})
	for path, want := range map[string]int{"/": http.StatusOK, "/other": http.StatusNotFound, "/page/absent.js": http.StatusNotFound, "/page/..%2fpage.go": http.StatusNotFound} {
		if w := get(t, h, path, here); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	files := 0
	err := fs.WalkDir(assets, "assets", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		w := get(t, h, "/page/"+strings.TrimPrefix(path, "assets/"), here)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") == "" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';") {
			t.Errorf("%s: %d, %v", path, w.Code, w.Header())
		}
		for _, bad := range []string{"http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "@import", "<script>", "style=\""} {
			if strings.Contains(w.Body.String(), bad) {
				t.Errorf("%s contains %q", path, bad)
			}
		}
		return nil
	})
	if w := get(t, h, "/page/drawing/blocks.js", here); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") {
		t.Errorf("a shared module: %d %v", w.Code, w.Header())
	}
	if err != nil || files < 12 {
		t.Errorf("%d files, %v", files, err)
	}
	for _, pattern := range h.Patterns() {
		if _, known := access.Page(pattern); !known {
			t.Errorf("internal/access has no row for %s", pattern)
		}
	}
}

// The reason of an end, which may quote an output, is shown only to a principal that may
// see everything about the job.
func TestReasonsOfOthers(t *testing.T) {
	h := handler(t, &fakeSource{jobs: []api.Status{{Job: "j", Submitter: "alice", State: api.StateFailed, Reason: "stderr: secret"}}})
	for _, c := range []struct {
		p    identity.Principal
		sees bool
	}{
		{identity.Principal{}, false}, {identity.Principal{Role: identity.User, Name: "bob"}, false}, {identity.Principal{Role: identity.Viewer, Name: "alice"}, false},
		{identity.Principal{Role: identity.User, Name: "alice"}, true}, {identity.Principal{Role: identity.Operator, Name: "olga"}, true}, {identity.Self(), true},
	} {
		r := httptest.NewRequestWithContext(identity.With(t.Context(), c.p), http.MethodGet, "/api/state", nil)
		r.Host = here
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), "secret"); got != c.sees || !strings.Contains(w.Body.String(), `"job":"j"`) {
			t.Errorf("%v: %s", c.p, w.Body)
		}
	}
}
