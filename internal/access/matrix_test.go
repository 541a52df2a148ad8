package access_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/peercred/peercredtest"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const cluster = "matrix"

// world is a cluster of three daemons with TLS, and callers with certificates.
type world struct {
	*authority
	listeners map[string][]string // addresses by the names of the golden file
	pages     map[string]string   // addresses of the HTTP servers, by the names of theirs
	frontend  *frontend.Frontend
	node      *nodemonitor.NodeMonitor
	callers   map[string]*tls.Certificate // nil: a stranger without one
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{authority: newAuthority(t), callers: map[string]*tls.Certificate{"nobody": nil}}
	for name, who := range map[string]struct {
		role identity.Role
		name string
	}{
		"viewer": {identity.Viewer, "vera"}, "alice": {identity.User, "alice"}, "bob": {identity.User, "bob"}, "operator": {identity.Operator, "olga"}, "admin": {identity.Admin, "adam"},
		"f-0": {identity.Frontend, "f-0"}, "f-9": {identity.Frontend, "f-9"}, "0": {identity.Master, "0"}, "n-0": {identity.Node, "n-0"}, "n-9": {identity.Node, "n-9"},
		"revoked": {identity.User, "alice"},
	} {
		c := w.issue(cluster, who.role, who.name, time.Now().Add(time.Hour))
		w.callers[name] = &c
	}
	expired, other := w.issue(cluster, identity.User, "alice", time.Now().Add(-time.Hour)), w.issue("elsewhere", identity.User, "alice", time.Now().Add(time.Hour))
	w.callers["expired"], w.callers["other"] = &expired, &other
	w.revoke(*w.callers["revoked"])
	w.run(t)
	return w
}

// run runs a master, a frontend and a node.
func (w *world) run(t *testing.T) {
	t.Helper()
	secure := func(s *daemon.Settings, role identity.Role, name string) {
		s.Cluster, s.HTTP, s.LocalRole = cluster, "0.0.0.0:0", daemon.NoLocalRole // on loopback pages have no TLS
		s.TLSCA, s.TLSCRL = w.path("ca.pem"), w.path("crl.pem")
		s.TLSCert, s.TLSKey = w.files(role, name)
	}
	mc := master.Default()
	mc.Listen = "127.0.0.1:0"
	secure(&mc.Settings, identity.Master, "0")
	m, err := master.New(mc, daemontest.Log(t))
	must(t, err)
	daemontest.Run(t, m)
	fc := frontend.Default()
	fc.ID, fc.Listen, fc.InternalListen, fc.Masters, fc.Data = "f-1", "127.0.0.1:0", "127.0.0.1:0", []string{m.Addr()}, t.TempDir()
	fc.ApplicationLease = time.Hour
	fc.PublishedListen = []daemon.PublishedListener{{Address: "127.0.0.1:0", Owner: "etl"}}
	secure(&fc.Settings, identity.Frontend, "f-1")
	w.frontend, err = frontend.New(fc, daemontest.Log(t))
	must(t, err)
	daemontest.Run(t, w.frontend)
	nc := nodemonitor.Default()
	nc.ID, nc.Slots, nc.Master, nc.Listen, nc.WorkDir = "n-1", 1, m.Addr(), "127.0.0.1:0", t.TempDir()
	nc.RunAs, nc.AllowRoot = "daemon", true // this machine has no alice
	nc.PublishedListen = []daemon.PublishedListener{{Address: "127.0.0.1:0", Owner: "etl"}}
	secure(&nc.Settings, identity.Node, "n-1")
	w.node, err = nodemonitor.New(nc, nodemonitor.Deps{Log: daemontest.Log(t)})
	must(t, err)
	daemontest.Run(t, w.node)
	w.listeners = map[string][]string{
		"frontend": {w.frontend.Addr()}, "backends": {w.node.Addrs().Listen},
		"peers": {m.Addr(), w.frontend.InternalAddr(), w.node.Addrs().Internal},
	}
	w.pages = map[string]string{}
	for name, address := range map[string]string{"frontend": w.frontend.HTTP(), "master": m.HTTP(), "node": w.node.Addrs().HTTP} {
		_, port, err := net.SplitHostPort(address)
		must(t, err)
		w.pages[name] = net.JoinHostPort("127.0.0.1", port)
	}
}

// dial returns the connections of a caller to an address.
func (w *world) dial(t *testing.T, caller, address string) *client.Pool {
	t.Helper()
	o := client.Options{Name: caller, Address: address, MaxConns: 1, CallTimeout: 20 * time.Second}
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true} //nolint:gosec // the caller proves itself here, not the daemon
	if c := w.callers[caller]; c != nil {
		config.Certificates = []tls.Certificate{*c}
	} else {
		o.Dial = asStranger(t)
	}
	o.Security = client.Security{TLS: config}
	p, err := client.New(o)
	must(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// asStranger dials as a user of this machine whom daemons do not know; the test is skipped
// where this process may not.
func asStranger(t *testing.T) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	return func(ctx context.Context, network, address string) (c net.Conn, err error) {
		peercredtest.As(t, peercredtest.Nobody, func() { c, err = new(net.Dialer).DialContext(ctx, network, address) })
		return c, err
	}
}

// prepare submits a job and registers an application of alice.
func (w *world) prepare(t *testing.T) {
	t.Helper()
	p := w.dial(t, "alice", w.frontend.Addr())
	r := &api.Request{Key: "j-alice", Backend: api.BackendSleep, Class: "long", Tasks: []api.Task{{ID: "0", Payload: api.Payload{Backend: api.BackendSleep, Sleep: time.Hour}}}}
	_, _, err := wire.NewSchedulerClient(p).Submit(t.Context(), r)
	must(t, err)
	a := &api.Application{ID: "app-alice", Incarnation: 1, Template: api.Template{Argv: []string{"true"}, Memory: 1}}
	_, err = wire.NewApplicationClient(p).RegisterApplication(t.Context(), a)
	must(t, err)
}

// arguments returns those of the calls whose arguments matter here.
func arguments(service, method string) record {
	const job, app, none = "j-alice", "app-alice", "no-such-thing"
	node := record{{1, int8(3)}, {2, "n-0"}}
	switch service + "." + method {
	case "SchedulerService.registerFrontend":
		return record{{1, "matrix"}, {2, "nowhere"}}
	case "SchedulerService.submit":
		return record{{1, record{}}}
	case "SchedulerService.jobStatus", "SchedulerService.waitJob", "SchedulerService.cancelJob", "SchedulerService.explainJob":
		return record{{1, job}}
	case "SchedulerService.taskLog":
		return record{{1, job}, {4, "stdout"}, {6, int32(10)}}
	case "SchedulerService.taskInput":
		return record{{1, job}, {4, record{}}}
	case "SchedulerService.forgetNode", "SchedulerService.drainNode", "SchedulerService.resumeNode", "PeerService.forgetNode":
		return record{{1, none}}
	case "ApplicationService.registerApplication":
		return record{{1, record{{1, app}, {4, int64(1)}, {5, record{{1, []string{"true"}}, {3, int64(1)}}}}}}
	case "ApplicationService.putFile":
		return record{{1, app}, {2, none}}
	case "ApplicationService.want":
		return record{{1, record{{1, app}, {2, int64(1)}, {3, int64(1)}}}}
	case "ApplicationService.news":
		return record{{1, app}, {2, int64(1)}}
	case "ApplicationService.endApplication":
		return record{{1, app}, {2, int64(99)}} // another process of it: nothing ends
	case "MasterService.registerBackend":
		return record{{1, "matrix"}, {2, "127.0.0.1:1"}, {3, int32(9)}}
	case "PeerService.deliver", "PeerService.hello", "PeerService.snapshot", "PeerService.reports":
		return record{{1, record{{1, node}, {2, int64(1)}, {4, int64(1)}}}}
	case "PeerService.inventory":
		return record{{1, record{{1, "n-0"}, {2, int64(1)}, {4, "f-1"}}}}
	case "PeerService.orderExecutors":
		return record{{1, record{{1, "f-0.0123abcd"}, {5, record{}}}}}
	case "PeerService.holdings":
		return record{{1, "f-0.0123abcd"}}
	case "PeerService.drain":
		return record{{1, record{{1, true}}}} // resume, of a node that does not drain
	case "PeerService.taskLog":
		return record{{1, record{}}, {2, "stdout"}, {4, int32(10)}}
	case "PeerService.taskInput":
		return record{{1, record{}}, {2, record{}}}
	}
	return nil
}

// row is a line of the golden file.
type row struct{ listener, service, method, signs string }

// golden reads the file: the callers, and a row for each call.
func golden(t *testing.T) (callers []string, rows []row) {
	t.Helper()
	callers, lines := readTable(t, "testdata/matrix.txt")
	for _, f := range lines {
		service, method, _ := strings.Cut(f[1], ".")
		rows = append(rows, row{f[0], service, method, strings.Join(f[2:], "")})
	}
	return callers, rows
}

// readTable reads a golden file: the callers of its head, and the fields of its lines.
func readTable(t *testing.T, path string) (callers []string, lines [][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "call":
			callers = f[1:]
		case len(f) != 2+len(callers):
			t.Fatalf("a line of %s has %d fields, and there are %d callers: %s", path, len(f), len(callers), line)
		default:
			lines = append(lines, f)
		}
	}
	return callers, lines
}

// Every call of every listener by every caller is answered as in the golden file.
func TestMatrix(t *testing.T) {
	callers, rows := golden(t)
	complete(t, rows)
	w := newWorld(t)
	w.prepare(t)
	for column, caller := range callers {
		t.Run(caller, func(t *testing.T) {
			if w.callers[caller] == nil && os.Geteuid() != 0 {
				t.Skip("only root can call as a user of whom the daemons know nothing")
			}
			pools := map[string]*client.Pool{}
			for _, r := range rows {
				for i, address := range w.listeners[r.listener] {
					p := pools[address]
					if p == nil {
						p = w.dial(t, caller, address)
						pools[address] = p
					}
					want := string(r.signs[column])
					got, text := ask(t.Context(), p, r.method, arguments(r.service, r.method))
					if want == "n" && strings.Contains(text, "this daemon is no ") {
						continue // another of these daemons serves the call
					}
					if got != want {
						t.Errorf("%s %d, %s.%s: %s, want %s: %s", r.listener, i, r.service, r.method, got, want, text)
					}
				}
			}
		})
	}
}

// complete fails when a call of a listener has no row.
func complete(t *testing.T, rows []row) {
	t.Helper()
	have := map[string]bool{}
	for _, r := range rows {
		have[r.listener+" "+r.service+"."+r.method] = true
	}
	for listener, services := range map[string][]string{
		"frontend": {access.IdentityService, access.SchedulerService, access.ApplicationService},
		"peers":    {access.IdentityService, access.PeerService},
		"backends": {access.IdentityService, access.MasterService, access.NodeMonitorService, access.ExecutorService},
	} {
		for _, s := range services {
			for _, m := range access.Methods(s) {
				if call := fmt.Sprintf("%s %s.%s", listener, s, m); !have[call] {
					t.Errorf("testdata/matrix.txt has no row for %s", call)
				}
			}
		}
	}
}

// A published listener serves the published methods to every caller, and no others.
func TestPublishedListeners(t *testing.T) {
	w := newWorld(t)
	for _, l := range []struct {
		address  string
		services []string
	}{
		{w.frontend.PublishedAddrs()[0], []string{access.SchedulerService, access.ApplicationService, access.PeerService}},
		{w.node.PublishedAddrs()[0], []string{access.MasterService, access.NodeMonitorService, access.ExecutorService, access.PeerService}},
	} {
		pool, err := client.New(client.Options{Name: "a published client", Address: l.address, MaxConns: 1})
		must(t, err)
		t.Cleanup(func() { _ = pool.Close() })
		seen := map[string]bool{}
		for _, s := range l.services {
			for _, m := range access.Methods(s) {
				want := "r"
				if access.IsPublished(s, m) {
					want = "+"
				}
				if seen[m] {
					continue // the first service that has the method serves it
				}
				seen[m] = true
				if got, text := ask(t.Context(), pool, m, arguments(s, m)); got != want {
					t.Errorf("%s.%s: %s, want %s: %s", s, m, got, want, text)
				}
			}
		}
	}
	// A job submitted there runs for the owner, whatever the client states, and its
	// neighbours may not see it.
	pool, err := client.New(client.Options{Name: "a published client", Address: w.frontend.PublishedAddrs()[0], MaxConns: 1})
	must(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	submitted := record{{1, record{{1, "etl"}, {2, tasks{"a"}}, {3, record{{1, "root"}, {2, "wheel"}}}}}}
	if got, text := call(t.Context(), pool, "submitJob", submitted); got != "+" || text != "" {
		t.Fatalf("%s %s", got, text)
	}
	list, err := wire.NewSchedulerClient(w.dial(t, "bob", w.frontend.Addr())).List(t.Context(), 0, "")
	must(t, err)
	if len(list) != 1 || list[0].Owner != "etl" || list[0].Submitter != "etl" || api.AppScope(list[0].App) != "etl" {
		t.Errorf("%+v", list)
	}
}

// tasks are the ids of tasks of a published request.
type tasks []string
