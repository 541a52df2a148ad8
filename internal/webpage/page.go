package webpage

import (
	"bytes"
	"context"
	"embed"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

//go:embed assets
var assets embed.FS

// Page is the page of a cluster, an http.Handler. Whoever serves it finds out who asks, and
// refuses names of other sites, as package telemetry does. Close ends its streams.
type Page struct {
	board   *board
	mux     *http.ServeMux
	viewers telemetry.Places // that hold a stream of events
}

// NewOfFrontend returns the page of a frontend, which shows names and states of the jobs of the
// other frontends too.
func NewOfFrontend(place Place, dial Dial) *Page {
	p := New(place)
	p.board.dial = dial
	return p
}

// New returns the page of what the sources return.
func New(places ...Place) *Page {
	p := &Page{
		board: newBoard(places), mux: http.NewServeMux(),
		viewers: telemetry.Places{Most: MaxViewers, OfUser: mostOfUser, OfAddress: mostOfAddress},
	}
	r := &reader{places: places}
	p.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { serveAsset(w, r, "index.html") })
	p.mux.HandleFunc("GET /page/{name...}", func(w http.ResponseWriter, r *http.Request) { serveAsset(w, r, r.PathValue("name")) })
	p.mux.HandleFunc("GET /page/events", p.events)
	p.mux.HandleFunc("GET /page/jobs", p.olderJobs)
	p.mux.HandleFunc("GET /page/explain", p.answer(explanation))
	p.mux.HandleFunc("GET /page/log", p.answer(taskLog))
	p.mux.HandleFunc("GET /page/shares", p.answer(shares))
	p.mux.HandleFunc("GET /page/applications", p.answer(applications))
	p.mux.Handle("GET /api/state", telemetry.JSON(func(ctx context.Context) (any, error) {
		s, err := r.read(ctx)
		if err != nil && len(s.Groups) == 0 && len(s.Jobs) == 0 {
			return nil, err
		}
		return shownTo(identity.From(ctx), s), nil // half of it is better than none
	}))
	return p
}

// Patterns returns those of http.ServeMux under which the page is served.
func (*Page) Patterns() []string {
	return []string{"GET /{$}", "GET /page/", "GET /page/events", "GET /page/jobs", "GET /page/explain", "GET /page/log", "GET /page/shares", "GET /page/applications", "GET /api/state"}
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Close ends the streams of all viewers and returns when nothing of the page runs any more.
func (p *Page) Close() { p.board.close() }

// shownTo returns the state as the caller may see it. The state itself is that of all callers.
func shownTo(p identity.Principal, s State) State {
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		s.Jobs[i] = access.Shown(p, s.Jobs[i])
	}
	return s
}

// contentTypes are those of the files of the page.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
}

// contentPolicy allows what the page itself has and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// readAsset returns a file of the page; those below drawing are shared with other pages.
func readAsset(name string) ([]byte, error) {
	if strings.HasPrefix(name, "drawing/") {
		return drawing.ReadFile(name)
	}
	return assets.ReadFile("assets/" + name)
}

func serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	text, err := readAsset(path.Clean(name))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentTypes[path.Ext(name)])
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}
