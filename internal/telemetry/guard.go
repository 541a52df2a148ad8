package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Security is how an HTTP server identifies callers, and what they may do. The zero value does
// neither.
type Security struct {
	// Identifier identifies callers; nil: they stay unknown. *credentials.Credentials is one.
	Identifier Identifier
	// Allow returns why a principal may not see what is registered under a pattern, nil when it
	// may; the pattern is "" where nothing is. Every caller may see /healthz and /readyz. nil:
	// every caller may see everything.
	Allow func(p identity.Principal, pattern string) error
	// Hosts are the names, without ports, at which callers reach this server besides
	// localhost and addresses.
	Hosts []string
	// Decided is called with each request that was refused: the caller and its address, the
	// request, and why it was not answered. nil: it is not called.
	Decided func(p identity.Principal, remote, request string, refusal error)
}

// Identifier identifies callers.
type Identifier interface {
	// Server returns the settings of TLS, nil for connections in clear.
	Server() *tls.Config
	// Identify returns the principal at the other end of a connection, after the handshake.
	// The error is why the caller's proof is not valid.
	Identify(c net.Conn) (identity.Principal, error)
	// Authenticate returns the principal that an access token proves.
	Authenticate(token string) (identity.Principal, error)
	// Valid returns why a principal identified earlier is not valid any more.
	Valid(p identity.Principal) error
}

// caller is the principal at the other end of a connection, found out at its first request.
type caller struct {
	once      sync.Once
	principal identity.Principal
	refusal   error
}

type connectionKey struct{}

// withConnection is http.Server.ConnContext: requests know their connection.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request as it was accepted, and as the handshake left
// it.
func connectionOf(r *http.Request) (accepted *connection, secured net.Conn) {
	secured, _ = r.Context().Value(connectionKey{}).(net.Conn)
	raw := secured
	if t, ok := raw.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	accepted, _ = raw.(*connection)
	return accepted, secured
}

// guard serves pages that only some may see: to callers that are allowed, under a name of this
// server, and to no page of another site. It bounds how many requests are answered at a time, in all and for one
// caller, so that connections are left for others, and for /healthz and /readyz.
func (s *Server) guard(h http.Handler) http.Handler {
	h = http.NewCrossOriginProtection().Handler(h)
	places := &Places{Most: maxConnections - reserved, OfUser: (maxConnections - reserved) / 4, OfAddress: maxOfAddress}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header())
		if !s.isNamed(r.Host) {
			s.refuse(w, r, identity.Principal{}, http.StatusMisdirectedRequest, &api.Error{
				Problem: api.Denied, Subject: "request for the host " + strconv.Quote(r.Host), What: "this server answers to localhost, to addresses and to its own names",
				Tried: "answering it: a page of another site could have a browser ask here", Next: "use one of its names, or add this one to http_hosts",
			})
			return
		}
		p, err := s.principal(r)
		if err == nil && s.opts.Security.Allow != nil {
			_, pattern := s.guarded.Handler(r)
			err = s.opts.Security.Allow(p, pattern)
		}
		if err != nil {
			status := http.StatusForbidden
			if p.Role == identity.Nobody {
				status = http.StatusUnauthorized
				w.Header().Set("WWW-Authenticate", `Bearer realm="pigeon"`)
			}
			s.refuse(w, r, p, status, err)
			return
		}
		r = r.WithContext(identity.With(r.Context(), p))
		leave, full := places.Take(r)
		if full != "" {
			w.Header().Set("Retry-After", "1")
			writeText(w, http.StatusServiceUnavailable, "as many requests as may be are being answered, "+full+"; try again")
			return
		}
		defer leave()
		h.ServeHTTP(w, r)
	})
}

// harden sets headers that keep a browser from using an answer in unintended ways. A handler
// may set others.
func harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// isNamed reports whether the host of a request is this server: localhost, an address, which no
// other site's name can be, or a configured name. HTTP/1.0 names none, and no browser speaks it.
func (s *Server) isNamed(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	name = strings.TrimSuffix(name, ".")
	return name == "" || strings.EqualFold(name, "localhost") || net.ParseIP(name) != nil ||
		slices.ContainsFunc(s.opts.Security.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// principal returns the principal of a request: by its token, else by its connection.
func (s *Server) principal(r *http.Request) (identity.Principal, error) {
	id := s.opts.Security.Identifier
	if id == nil {
		return identity.Principal{}, nil
	}
	accepted, secured := connectionOf(r)
	if header := r.Header.Get("Authorization"); header != "" {
		return s.byToken(r, header, accepted)
	}
	if accepted == nil {
		return identity.Principal{}, nil
	}
	c := &accepted.caller
	c.once.Do(func() { c.principal, c.refusal = id.Identify(secured) })
	if c.refusal != nil {
		return c.principal, c.refusal
	}
	return c.principal, id.Valid(c.principal)
}

var errClearToken = errors.New("an access token came in clear over a network, where others can read it; revoke it, and use https")

func (s *Server) byToken(r *http.Request, header string, accepted *connection) (identity.Principal, error) {
	if r.TLS == nil && (accepted == nil || accepted.address != "") {
		return identity.Principal{}, errClearToken
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return identity.Principal{}, &api.Error{
			Problem: api.Denied, Subject: "header Authorization", What: "its scheme is not Bearer", Tried: "finding out who calls", Next: "send Authorization: Bearer TOKEN",
		}
	}
	p, err := s.opts.Security.Identifier.Authenticate(strings.TrimSpace(token))
	if err != nil {
		return identity.Principal{}, err
	}
	return p, s.opts.Security.Identifier.Valid(p)
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p identity.Principal, status int, refusal error) {
	if s.opts.Security.Decided != nil {
		s.opts.Security.Decided(p, r.RemoteAddr, r.Method+" "+r.URL.Path, refusal)
	}
	writeText(w, status, refusal.Error())
}

// busy makes the connection of a request count as busy while it is answered.
func busy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, _ := connectionOf(r); c != nil {
			c.begin()
			defer c.end()
		}
		h.ServeHTTP(w, r)
	})
}
