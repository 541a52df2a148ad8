package webpage

import (
	"bytes"
	"context"
	_ "embed"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

//go:embed page.html
var page []byte

// Handler serves the page and its state from the sources.
func Handler(sources ...Source) http.Handler {
	r := &reader{sources: sources}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", servePage)
	mux.Handle("GET /api/state", telemetry.JSON(func(ctx context.Context) (any, error) {
		s, err := r.read(ctx)
		if err != nil && len(s.Groups) == 0 && len(s.Jobs) == 0 {
			return nil, err
		}
		return shownTo(identity.From(ctx), s), nil // half of it is better than none
	}))
	return local(mux)
}

// shownTo returns the state as the caller may see it. The state itself is that of all callers.
func shownTo(p identity.Principal, s State) State {
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		s.Jobs[i] = access.Shown(p, s.Jobs[i])
	}
	return s
}

func servePage(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(page))
}

// local refuses requests that name another host.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(host) == nil {
			http.Error(w, "this page answers to localhost or an address, not to other names", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
