package telemetry

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// fakeIdentifier takes each connection for the principal that it names, and one token for another.
type fakeIdentifier struct {
	here    identity.Principal
	refusal error // of the connection
	invalid atomic.Bool
	asked   atomic.Int32
}

const testToken = "a-token"

func (f *fakeIdentifier) Server() *tls.Config { return nil }

func (f *fakeIdentifier) Identify(net.Conn) (identity.Principal, error) {
	f.asked.Add(1)
	return f.here, f.refusal
}

func (f *fakeIdentifier) Authenticate(token string) (identity.Principal, error) {
	if token != testToken {
		return identity.Principal{}, errors.New("it is nobody's token")
	}
	return identity.Principal{Name: "ann", Role: identity.Viewer, Proof: identity.Token}, nil
}

func (f *fakeIdentifier) Valid(identity.Principal) error {
	if f.invalid.Load() {
		return errors.New("it has ended")
	}
	return nil
}

// allowPeople admits every caller with a role.
func allowPeople(p identity.Principal, _ string) error {
	if p.Role == identity.Nobody {
		return errors.New("an unknown caller may not")
	}
	return nil
}

// guarded starts a server whose /status names the caller.
func guarded(t *testing.T, sec Security) *Server {
	t.Helper()
	s := NewServer(ServerOptions{Security: sec})
	s.Handle("/status", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeText(w, http.StatusOK, identity.From(r.Context()).Name)
	}))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// ask makes a request on its own connection and returns its status, body and headers.
func ask(t *testing.T, s *Server, method, path, host string, headers ...string) (int, string, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Close = host, true
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(body)), answer.Header
}

// A page of another site cannot ask here by a name that leads to this machine (DNS rebinding).
func TestOtherHostsAreRefused(t *testing.T) {
	var refused atomic.Int32
	s := guarded(t, Security{Hosts: []string{"node-1.example"}, Decided: func(identity.Principal, string, string, error) { refused.Add(1) }})
	for host, want := range map[string]int{
		"": 200, "localhost:80": 200, "LOCALHOST": 200, "127.0.0.1:1": 200, "[::1]:80": 200, "[::1]": 200, "10.1.2.3": 200, "node-1.example": 200, "Node-1.Example.:80": 200,
		"evil.example": 421, "evil.example:80": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "node-1.example.evil": 421,
	} {
		if got, body, _ := ask(t, s, http.MethodGet, "/status", host); got != want {
			t.Errorf("by the host %q: %d %s, want %d", host, got, body, want)
		}
	}
	if n := refused.Load(); n != 5 {
		t.Errorf("%d refusals were reported, want 5", n)
	}
	if got, _, _ := ask(t, s, http.MethodGet, "/healthz", "evil.example"); got != 200 {
		t.Errorf("a probe by another name is answered %d", got)
	}
}

// A page of another site can have a browser change nothing here.
func TestOtherOriginsAreRefused(t *testing.T) {
	s := guarded(t, Security{})
	for name, c := range map[string]struct {
		method  string
		headers []string
		want    int
	}{
		"a program": {http.MethodPost, nil, 200}, "the page itself": {http.MethodPost, []string{"Origin", "http://" + s.Addr(), "Sec-Fetch-Site", "same-origin"}, 200},
		"another site": {http.MethodPost, []string{"Origin", "http://evil.example"}, 403}, "another site, by the browser": {http.MethodDelete, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a link to here": {http.MethodGet, []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example"}, 200},
	} {
		if got, body, _ := ask(t, s, c.method, "/status", s.Addr(), c.headers...); got != c.want {
			t.Errorf("%s: %d %s, want %d", name, got, body, c.want)
		}
	}
	_, _, h := ask(t, s, http.MethodGet, "/status", s.Addr())
	for key, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cache-Control": "no-store"} {
		if h.Get(key) != want {
			t.Errorf("%s: %q, want %q", key, h.Get(key), want)
		}
	}
}

// The caller is the user that the kernel names, or the user of the token; an unknown caller sees
// nothing, and only probes are answered to everyone.
func TestWhoMaySee(t *testing.T) {
	id := &fakeIdentifier{}
	s := guarded(t, Security{Identifier: id, Allow: allowPeople})
	bearer := []string{"Authorization", "Bearer " + testToken}
	if got, body, h := ask(t, s, http.MethodGet, "/status", "localhost"); got != 401 || h.Get("WWW-Authenticate") == "" || !strings.Contains(body, "unknown caller") {
		t.Errorf("an unknown caller: %d %s", got, body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got, _, _ := ask(t, s, http.MethodGet, path, "localhost"); got != 200 {
			t.Errorf("%s: %d", path, got)
		}
	}
	if got, body, _ := ask(t, s, http.MethodGet, "/status", "localhost", bearer...); got != 200 || body != "ann" {
		t.Errorf("with a token: %d %s", got, body)
	}
	for _, header := range []string{"Bearer other", "Basic YTpi", "Bearer", testToken} {
		if got, _, _ := ask(t, s, http.MethodGet, "/status", "localhost", "Authorization", header); got != 401 {
			t.Errorf("%s: %d", header, got)
		}
	}
	id.invalid.Store(true)
	if got, _, _ := ask(t, s, http.MethodGet, "/status", "localhost", bearer...); got == 200 {
		t.Error("a token that has ended is accepted")
	}
	known := &fakeIdentifier{here: identity.Principal{Name: "bob", Role: identity.User, Proof: identity.Kernel}}
	s = guarded(t, Security{Identifier: known, Allow: allowPeople})
	if got, body, _ := ask(t, s, http.MethodGet, "/status", "localhost"); got != 200 || body != "bob" {
		t.Errorf("by the kernel: %d %s", got, body)
	}
	if known.asked.Load() != 1 {
		t.Errorf("the kernel was asked %d times for one connection", known.asked.Load())
	}
}

// A token that comes in clear from another machine is refused, whosever it is: others could read
// it.
func TestNoTokenInClear(t *testing.T) {
	s := NewServer(ServerOptions{Security: Security{Identifier: &fakeIdentifier{}, Allow: allowPeople}})
	for address, want := range map[string]error{"": nil, "10.0.0.1": errClearToken} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.byToken(r, "Bearer "+testToken, &connection{address: address}); !errors.Is(err, want) {
			t.Errorf("from %q: %v, want %v", address, err, want)
		}
	}
}

// hold opens a connection and keeps it, with text sent on it, until the end of the test.
func hold(t *testing.T, s *Server, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the server may have closed it
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// Strangers that hold the maximum of connections, idle, silent, or with half a request, keep no
// probe out: the longest idle one is closed for it.
func TestIdleConnectionsStarveNobody(t *testing.T) {
	s := guarded(t, Security{})
	for i := range 3 * maxConnections {
		switch i % 3 {
		case 0:
			hold(t, s, "")
		case 1:
			hold(t, s, "GET /status HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
		default:
			c := hold(t, s, "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		if i%maxConnections == maxConnections-1 {
			for _, path := range []string{"/healthz", "/readyz"} {
				if got, _, _ := ask(t, s, http.MethodGet, path, "localhost"); got != 200 {
					t.Errorf("%s: %d", path, got)
				}
			}
		}
	}
}

// While the maximum of other requests is being answered, probes are answered, and a further
// request is asked to try again.
func TestProbesWhileOthersAreServed(t *testing.T) {
	s := NewServer(ServerOptions{})
	entered, gate := make(chan struct{}), make(chan struct{})
	s.Handle("/slow", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { entered <- struct{}{}; <-gate }))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	defer close(gate)
	for range maxConnections - reserved {
		hold(t, s, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
		<-entered
	}
	for range 3 {
		if got, _, _ := ask(t, s, http.MethodGet, "/healthz", "localhost"); got != 200 {
			t.Errorf("a probe is answered %d", got)
		}
		if got, _, h := ask(t, s, http.MethodGet, "/slow", "localhost"); got != 503 || h.Get("Retry-After") == "" {
			t.Errorf("a further request is answered %d", got)
		}
	}
}

// fakeConn is a connection from an address.
type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 1} }
func (c *fakeConn) Close() error         { c.closed = true; return nil }

// One address has no more than its part, and the connections of others stay.
func TestConnectionsOfOneAddress(t *testing.T) {
	s := limit(nil, 8, 3)
	enter := func(from string) (*connection, *connection, bool) {
		raw := &fakeConn{from: from}
		c := &connection{Conn: raw, set: s, address: addressOf(raw)}
		victim, ok := s.admit(c)
		return c, victim, ok
	}
	var mine []*connection
	for i := range 3 {
		c, victim, ok := enter("10.0.0.1")
		if victim != nil || !ok {
			t.Fatalf("connection %d: %v %v", i, victim, ok)
		}
		mine = append(mine, c)
	}
	mine[0].begin()
	if _, victim, ok := enter("10.0.0.1"); victim != mine[1] || !ok {
		t.Error("the longest idle one of the address is not closed for a fourth")
	}
	for i := range 5 {
		if _, victim, ok := enter(fmt.Sprintf("10.0.1.%d", i)); victim != nil || !ok {
			t.Errorf("another address: %v %v", victim, ok)
		}
	}
	if _, victim, ok := enter("10.0.2.1"); victim != mine[2] || !ok {
		t.Error("the longest idle one of the address with most is not closed at the bound")
	}
	for e := s.idle.Front(); e != nil; e = s.idle.Front() {
		e.Value.(*connection).begin()
	}
	if _, victim, ok := enter("10.0.3.1"); victim != nil || ok {
		t.Error("a connection is admitted while all are busy")
	}
	if err := mine[0].Close(); err != nil || s.open != 7 || s.byAddress["10.0.0.1"] != 1 {
		t.Errorf("%v, %d open, %v", err, s.open, s.byAddress)
	}
	mine[0].end() // its handler ends after it
	if s.idle.Len() != 0 {
		t.Error("a closed connection is idle")
	}
}

// Beyond the bound of all, the address with most idle connections gives way, and not who was here first.
func TestTheAddressWithMostGivesWay(t *testing.T) {
	s := limit(nil, 4, 4)
	var all []*connection
	for i, from := range []string{"192.0.2.1", "2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.2"} {
		raw := &fakeConn{from: from}
		c := &connection{Conn: raw, set: s, address: addressOf(raw)}
		all = append(all, c)
		if victim, ok := s.admit(c); !ok || (victim != nil) != (i == 4) || i == 4 && victim != all[1] {
			t.Errorf("connection %d: %v, and %v gives way, want the first one of the network", i, ok, victim)
		}
	}
}
