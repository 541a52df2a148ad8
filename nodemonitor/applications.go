package nodemonitor

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxFiles bounds the bytes of applications' files on a node.
const maxFiles = 4 << 30

// applications is the part of a node for applications that bring their own
// executors: the processes, the table of grants, and the resident backends of
// others, which are all backends of the same kind of task.
//
//	slots ──▶ applications ──▶ table ──▶ executors ◀── keeper ◀── frontends
//	                 └──▶ registry of resident and classic backends
type applications struct {
	keeper   *executors.Keeper // made when the node's addresses are known
	table    *grants.Table
	backends backend.Backend // the registry's
}

var (
	_ backend.Backend     = (*applications)(nil)
	_ wire.ExecutorKeeper = (*applications)(nil)
	_ wire.Granter        = (*applications)(nil)
)

// newApplications makes what can be made before the ports are open.
func (n *NodeMonitor) newApplications() {
	e := n.equipment
	n.applications = &applications{backends: e.backends[api.BackendApp], table: grants.New(grants.Config{
		Node: n.cfg.ID, Slots: n.cfg.Slots, Lease: n.cfg.GrantLease, Changed: n.servingChanged,
	})}
	e.backends[api.BackendApp] = n.applications
	n.metrics.watchGrants(n.applications.table.Stats)
	e.owns(func() error { n.applications.Close(); return nil })
}

// keepExecutors makes the keeper, when the node's addresses are known.
func (n *NodeMonitor) keepExecutors(codec *wire.Codec) error {
	e, dir := n.equipment, n.cfg.workDir(os.TempDir())
	store, err := files.Open(filepath.Join(dir, "files"), maxFiles)
	if err != nil {
		return err
	}
	runtimes, err := parseRuntimes(n.cfg.Runtimes)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(filepath.Join(dir, "applications"))
	if err != nil {
		return err
	}
	cfg := executors.Config{
		Node: n.cfg.ID, Incarnation: n.incarnation, Host: n.cfg.host(n.owner.address), Address: n.reached(n.published.Addr()),
		Folder: folder, Slots: n.cfg.Slots, Memory: n.cfg.memory(), Runtimes: runtimes, Lease: n.cfg.ApplicationLease,
		Guard: e.guard, Files: store, Table: n.applications.table, Logger: n.log,
		Fetch: func(address string) (wire.FileKeeper, error) {
			pool, err := n.frontendPools.At(address)
			if err != nil {
				return nil, err
			}
			return wire.NewPeerClient(pool, codec), nil
		},
	}
	if n.status != nil {
		cfg.Web = "http://" + n.reached(addr(n.status.Addr()))
	}
	if n.applications.keeper, err = executors.New(cfg); err == nil && n.status != nil {
		n.status.Handle("GET /applications/", n.applications.keeper.Logs())
	}
	return err
}

// addr is an address as text.
type addr string

func (a addr) Network() string { return "tcp" }
func (a addr) String() string  { return string(a) }

// reached is where others reach one of this node's ports: under the name that the
// node goes by, when that port listens on more than loopback.
func (n *NodeMonitor) reached(listening net.Addr) string {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return listening.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if host, _, err = net.SplitHostPort(n.owner.address); err != nil {
			return listening.String()
		}
	}
	return net.JoinHostPort(host, port)
}

// parseRuntimes reads the setting runtimes.
func parseRuntimes(list []string) (map[string]string, error) {
	m := make(map[string]string, len(list))
	for _, entry := range list {
		name, home, ok := strings.Cut(entry, "=")
		if !ok || name == "" || !filepath.IsAbs(home) {
			return nil, fmt.Errorf("use NAME=HOME with a full path, not %q", entry)
		}
		m[name] = home
	}
	return m, nil
}

// servingChanged has the slots serve the applications that have an executor with
// room, beside those with a resident backend.
func (n *NodeMonitor) servingChanged() {
	n.do(func() {
		serving := slices.Concat(n.equipment.registry.Serves(), n.applications.table.Serving())
		slices.Sort(serving)
		n.owner.workers.SetServes(slices.Compact(serving))
	})
}

// Start gives the task to an executor of its application, or to a backend.
func (a *applications) Start(t backend.Task, done func(backend.Result)) {
	if a.table.Knows(t.App) {
		a.table.Start(t, done)
		return
	}
	a.backends.Start(t, done)
}

// Kill stops an attempt, wherever it runs.
func (a *applications) Kill(id sched.AttemptID) {
	a.table.Kill(id)
	a.backends.Kill(id)
}

// Close ends the executors, then what is left of grants and backends. It is safe
// twice.
func (a *applications) Close() {
	if a.keeper != nil {
		a.keeper.Close()
	}
	a.table.Close()
	a.backends.Close()
}

// OrderExecutors takes an order of a frontend.
func (a *applications) OrderExecutors(ctx context.Context, o *wire.Order) (wire.OrderReply, error) {
	return a.keeper.OrderExecutors(ctx, o)
}

// Holdings tells a frontend what is held here.
func (a *applications) Holdings(ctx context.Context, frontend string, incarnation, version int64, wait time.Duration) (wire.Holdings, error) {
	return a.keeper.Holdings(ctx, frontend, incarnation, version, wait)
}

// AttachExecutor says that an executor takes grants.
func (a *applications) AttachExecutor(ctx context.Context, e wire.ExecutorID, slots int) error {
	return a.table.AttachExecutor(ctx, e, slots)
}

// AwaitGrants answers an executor.
func (a *applications) AwaitGrants(ctx context.Context, e wire.ExecutorID, after int64, wait time.Duration) (api.Grants, error) {
	return a.table.AwaitGrants(ctx, e, after, wait)
}

// EndGrants frees slots.
func (a *applications) EndGrants(ctx context.Context, e wire.ExecutorID, ends []api.GrantEnd) error {
	return a.table.EndGrants(ctx, e, ends)
}
