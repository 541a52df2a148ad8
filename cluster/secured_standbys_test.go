package cluster_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/tokens"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// guarded is a cluster of processes with certificates, standbys, replicated journals and a user who has an
// access token, with a load of jobs of that user.
type guarded struct {
	*cluster.Cluster
	t       *testing.T
	clients []*wire.SchedulerClient // of each process of the frontend, with the token
	dir     string                  // a file for each start of a program

	load sync.WaitGroup
	done atomic.Int64 // jobs
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	token, _, err := tokens.Create(file, tokens.Order{User: "alice", Role: identity.User, Lifetime: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{t: t, dir: t.TempDir(), Cluster: start(t, cluster.Spec{
		Groups: []int{2, 1}, Slots: 4, Isolation: cluster.Process, HTTP: true, TLS: true, NATSServers: 3, MasterStandbys: 1, FrontendStandbys: true,
		Configure: func(c any) {
			switch c := c.(type) {
			case *frontend.Config:
				c.TokensFile = file
			case *nodemonitor.Config: // alice need not be a user of this machine
				c.RunAs, c.AllowRoot = accounts.Daemon, true
			}
		},
	})}
	security, err := g.Security()
	if err != nil {
		t.Fatal(err)
	}
	security.TLS = security.TLS.Clone()
	security.TLS.Certificates, security.TLS.GetClientCertificate = nil, nil // the admin's: the token proves who calls
	security.Token = func() (string, error) { return token, nil }
	for _, address := range g.Frontends() {
		pool, err := client.New(client.Options{Name: "frontend", Address: address, Security: security, MaxConns: 16})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
		g.clients = append(g.clients, wire.NewSchedulerClient(pool))
	}
	return g
}

// run runs a job of programs to its end, at the process of the frontend that leads.
func (g *guarded) run(key string, tasks int) (status api.Status, err error) {
	r := &api.Request{Key: key, Backend: api.BackendExec, Class: "short"}
	for i := range tasks {
		script := fmt.Sprintf(`: > %s/%s.%d.$PIGEON_ATTEMPT; sleep 0.05`, g.dir, key, i)
		r.Tasks = append(r.Tasks, api.Task{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", script}}}})
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), await.Limit)
	defer cancel()
	for n := 0; ctx.Err() == nil; n++ {
		s := g.clients[n%len(g.clients)]
		call, end := context.WithTimeout(ctx, 3*time.Second)
		if _, _, err = s.Submit(call, r); err == nil {
			status, err = s.Wait(call, key, 2*time.Second)
		}
		end()
		if err == nil && status.State.Ended() {
			return status, nil
		}
		delay.For(ctx, 10*time.Millisecond) // another process takes over
	}
	return status, fmt.Errorf("not in time: %w", err)
}

// begin runs jobs until ctx ends.
func (g *guarded) begin(ctx context.Context) {
	for w := range 3 {
		g.load.Go(func() {
			for k := 0; ctx.Err() == nil && !g.t.Failed(); k++ {
				key := fmt.Sprintf("job-%d-%d", w, k)
				got, err := g.run(key, 4)
				if err != nil || got.State != api.StateCompleted || got.Completed != 4 || got.Submitter != "alice" {
					g.t.Errorf("%s: %+v, %v", key, got, err)
					return
				}
				for i := range 4 {
					if starts := g.starts(key, i, got.Submitted); len(starts) != 1 {
						g.t.Errorf("task %d of %s has started as %v", i, key, starts)
					}
				}
				g.done.Add(1)
			}
		})
	}
}

// starts returns the starts of a task since its job was accepted. A frontend sends tasks while their
// acceptance is being written: what a process has started that ended before it was, no client was told of.
func (g *guarded) starts(key string, task int, accepted float64) (names []string) {
	const coarse = 10 * time.Millisecond // the clock of file systems
	since := time.UnixMicro(int64(accepted * 1e6)).Add(-coarse)
	found, err := filepath.Glob(filepath.Join(g.dir, fmt.Sprintf("%s.%d.*", key, task)))
	if err != nil {
		g.t.Error(err)
	}
	for _, path := range found {
		if info, err := os.Stat(path); err != nil {
			g.t.Error(err)
		} else if !info.ModTime().Before(since) {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

// goesOn waits until more jobs have ended than before.
func (g *guarded) goesOn(after string) {
	g.t.Helper()
	since := g.done.Load()
	await.Until(g.t, "jobs end after "+after, func() bool { return g.done.Load() > since+6 || g.t.Failed() })
}

// page returns what a daemon serves under a path, "" when it does not.
func (g *guarded) page(r cluster.Role, i int, path string) string {
	q, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, "http://"+g.HTTP(r, i)+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	q.Close = true
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body) // of a daemon that ends meanwhile
	return string(text)
}

// leads reports whether a daemon leads.
func (g *guarded) leads(r cluster.Role, i int) bool {
	return strings.Contains(g.page(r, i, "/metrics"), fmt.Sprintf("\npigeon_%s_leads 1\n", r))
}

// leader returns the number of the process that leads, of those with the given numbers.
func (g *guarded) leader(r cluster.Role, of ...int) (leader int) {
	g.t.Helper()
	await.Until(g.t, fmt.Sprintf("one of the %ss %v leads", r, of), func() bool {
		for _, leader = range of {
			if g.leads(r, leader) {
				return true
			}
		}
		return false
	})
	return leader
}

// serials returns the numbers of the certificates that the frontends show.
func (g *guarded) serials() (list []string) {
	for _, at := range g.Frontends() {
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}, Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := d.DialContext(g.t.Context(), "tcp", at)
		if err != nil {
			list = append(list, err.Error())
			continue
		}
		list = append(list, conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String())
		_ = conn.Close()
	}
	return list
}

// TestSecuredStandbys: where all calls go by TLS, NATS admits daemons by their certificates and a user has an
// access token, leaders of all roles are killed, again and again, while the certificates are renewed: every job
// ends, and every program has started once since its job was accepted.
func TestSecuredStandbys(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	ctx, stop := context.WithCancel(t.Context())
	g.begin(ctx)
	defer g.load.Wait()
	defer stop()
	g.goesOn("the start")
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		before := g.serials()
		lost := map[cluster.Role]int{cluster.Master: g.leader(cluster.Master, 0, 1), cluster.Frontend: g.leader(cluster.Frontend, 0, 1), cluster.NATS: round}
		if err := g.Kill(cluster.Master, lost[cluster.Master]); err != nil {
			t.Fatal(err)
		}
		if err := g.RenewCertificates(); err != nil {
			t.Fatal(err)
		}
		g.goesOn("the end of the leading master")
		for _, r := range []cluster.Role{cluster.Frontend, cluster.NATS} {
			if err := g.Kill(r, lost[r]); err != nil {
				t.Fatal(err)
			}
			g.goesOn(fmt.Sprintf("the end of %s %d", r, lost[r]))
		}
		for r, i := range lost {
			if err := g.Restart(r, i); err != nil {
				t.Fatal(err)
			}
		}
		g.goesOn("all were started again")
		await.Until(t, "both processes of the frontend show the new certificate", func() bool {
			now := g.serials()
			return now[0] == now[1] && now[0] != before[0]
		}, func() string { return fmt.Sprint(before, g.serials()) })
	}
	stop()
	g.load.Wait()
	t.Logf("%d jobs", g.done.Load())
}
