package access_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// browser returns a client that makes HTTP requests as a caller.
func (w *world) browser(t *testing.T, caller string) *http.Client {
	t.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true} //nolint:gosec // the caller proves itself here, not the daemon
	transport := &http.Transport{TLSClientConfig: config}
	if c := w.callers[caller]; c != nil {
		config.Certificates = []tls.Certificate{*c}
	} else {
		transport.DialContext = asStranger(t)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// visit requests a page and returns the answer as a sign of the golden file, with the text of a
// refusal.
func visit(t *testing.T, c *http.Client, url string) (sign, text string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // a stream of events has no end
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	must(t, err)
	r, err := c.Do(q)
	if err != nil {
		return "?", err.Error() // no answer at all
	}
	defer func() { _ = r.Body.Close() }() // only read
	if r.StatusCode != http.StatusUnauthorized && r.StatusCode != http.StatusForbidden {
		return "+", r.Status
	}
	body, err := io.ReadAll(r.Body)
	must(t, err)
	return signOf(string(body)), string(body)
}

// runExecutor registers the application pages of alice and returns when its executor runs.
func (w *world) runExecutor(t *testing.T) {
	t.Helper()
	c := wire.NewApplicationClient(w.dial(t, "alice", w.frontend.Addr()))
	a := &api.Application{ID: "pages", Incarnation: 1, Grants: true, Template: api.Template{Argv: []string{"sleep", "1000"}, Memory: 1}}
	_, err := c.RegisterApplication(t.Context(), a)
	must(t, err)
	_, err = c.Want(t.Context(), &api.Wants{Application: a.ID, Incarnation: 1, Sequence: 1, Executors: 1})
	must(t, err)
	browser := w.browser(t, "alice")
	await.Until(t, "the executor runs", func() bool {
		r, err := browser.Get("https://" + w.pages["frontend"] + "/applications") //nolint:noctx // it ends with the daemon
		must(t, err)
		defer func() { _ = r.Body.Close() }() // only read
		var list []struct{ Executors []api.ExecutorState }
		must(t, json.NewDecoder(r.Body).Decode(&list))
		return len(list) == 1 && len(list[0].Executors) == 1 && list[0].Executors[0].State == api.ExecutorRunning
	})
}

// Every page of every daemon is shown to every caller as in the golden file.
func TestMatrixOfPages(t *testing.T) {
	callers, lines := readTable(t, "testdata/pages.txt")
	have := map[string]bool{}
	for _, f := range lines {
		path, _, _ := strings.Cut(f[1], "?")
		have[path] = true
	}
	for _, pattern := range access.Pages() {
		path := strings.TrimSuffix(strings.TrimPrefix(pattern, "GET "), "{$}")
		if path == "/page/" {
			path += "main.js"
		}
		if path == "/applications/" {
			path += "pages/0/stdout"
		}
		if !have[path] {
			t.Errorf("testdata/pages.txt has no row for %s", pattern)
		}
	}
	w := newWorld(t)
	w.runExecutor(t)
	w.prepare(t)
	for column, caller := range callers {
		t.Run(caller, func(t *testing.T) {
			if w.callers[caller] == nil && os.Geteuid() != 0 {
				t.Skip("only root can call as a user of whom the daemons know nothing")
			}
			c := w.browser(t, caller)
			for _, f := range lines {
				want := f[2+column]
				if got, text := visit(t, c, "https://"+w.pages[f[0]]+f[1]); got != want {
					t.Errorf("%s %s: %s, want %s: %s", f[0], f[1], got, want, text)
				}
			}
		})
	}
}
