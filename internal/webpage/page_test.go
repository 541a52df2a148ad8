package webpage

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// fakeSource answers what it holds.
type fakeSource struct {
	groups   []api.MasterState
	jobs     []api.Status
	err      error
	requests atomic.Int32
}

func (f *fakeSource) Nodes(context.Context) ([]api.MasterState, error) { return f.groups, f.err }

func (f *fakeSource) List(context.Context, int, string) ([]api.Status, error) {
	f.requests.Add(1)
	return f.jobs, f.err
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
	w := get(t, Handler(away, a, b), "/api/state", here)
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

// TestStateIsAskedOnce: many browsers cost one question.
func TestStateIsAskedOnce(t *testing.T) {
	s := &fakeSource{}
	h := Handler(s)
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
	w := get(t, Handler(&fakeSource{err: errors.New("no answer")}), "/api/state", here)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "no answer") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestPage: it is there, loads nothing from elsewhere, and only answers to names
// of this machine.
func TestPage(t *testing.T) {
	h := Handler(&fakeSource{})
	for _, c := range []struct {
		path, host string
		code       int
	}{
		{"/", here, http.StatusOK}, {"/", "localhost:1", http.StatusOK}, {"/", "[::1]:1", http.StatusOK}, {"/", "localhost", http.StatusOK},
		{"/", "evil.example:8080", http.StatusForbidden}, {"/api/state", "evil.example", http.StatusForbidden},
		{"/other", here, http.StatusNotFound},
	} {
		if w := get(t, h, c.path, c.host); w.Code != c.code {
			t.Errorf("%s at %s: %d, want %d", c.path, c.host, w.Code, c.code)
		}
	}
	w := get(t, h, "/", here)
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("headers %v", w.Header())
	}
	for _, bad := range []string{"http://", "https://", "innerHTML", "<script src", "@import"} {
		if strings.Contains(w.Body.String(), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

// The reason of an end, which may quote an output, is shown to who may see all of the job.
func TestReasonsOfOthers(t *testing.T) {
	h := Handler(&fakeSource{jobs: []api.Status{{Job: "j", Submitter: "alice", State: api.StateFailed, Reason: "stderr: secret"}}})
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
