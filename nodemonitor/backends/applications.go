package backends

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxFiles bounds the bytes of applications' files on a node.
const maxFiles = 4 << 30

// Applications is the backend of the tasks of applications: of grants, and of tasks in
// backend processes.
type Applications struct {
	executors *executors.Manager // nil before OpenExecutors
	files     *filestore.Store   // likewise
	table     *grants.Table
	holds     *grants.Holds
	registry  *app.Registry
}

var (
	_ backend.Backend      = (*Applications)(nil)
	_ wire.ExecutorManager = (*Applications)(nil)
	_ wire.Granter         = (*Applications)(nil)
)

// ExecutorsConfig is what the executors of applications need.
type ExecutorsConfig struct {
	Incarnation int64
	Host        string
	Address     string // host:port of ExecutorService
	Web         string // http://host:port of the status page, "" for none
	Memory      int64  // MB
	Runtimes    map[string]string
	LocalDirs   []string
	Lease       time.Duration
}

// OpenExecutors opens the part that runs executors, which needs the node's addresses.
func (s *Set) OpenExecutors(c ExecutorsConfig) error {
	store, err := filestore.Open(filepath.Join(s.cfg.Folder, "files"), maxFiles)
	if err != nil {
		return err
	}
	s.apps.files = store
	folder, err := filepath.Abs(filepath.Join(s.cfg.Folder, "applications"))
	if err != nil {
		return err
	}
	s.apps.executors, err = executors.New(executors.Config{
		Node: s.cfg.Node, Incarnation: c.Incarnation, Host: c.Host, Address: c.Address, Web: c.Web,
		Folder: folder, Slots: s.cfg.Slots, Memory: c.Memory, Runtimes: c.Runtimes, LocalDirs: c.LocalDirs, Lease: c.Lease,
		Limits: s.cfg.ExecutorLimits, Guard: s.guard, Accounts: s.cfg.Accounts, Files: store, Table: s.apps.table, Holds: s.apps.holds, Logger: s.cfg.Log,
		Fetch: s.cfg.Fetch, Disk: s.disk, Retention: s.cfg.LogRetention, KeptBytes: keptBytes(s.cfg.LogLimit),
	})
	if err == nil {
		s.cfg.OnClose(func() error { s.apps.Close(); return nil })
	}
	return err
}

// keptBytes returns how much is kept of the outputs of executors whose application is over: 1 GiB, or
// what a smaller log_limit says.
func keptBytes(limit int64) int64 {
	if limit == 0 {
		return 0
	}
	return min(limit, 1<<30)
}

// ParseRuntimes reads a list of NAME=HOME.
func ParseRuntimes(list []string) (map[string]string, error) {
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

// Drain has the node take no executors and no grants any more for a reason, or, for "", again. Executors
// that have no process yet are stopped, grants that have reached no executor are given back, and
// leases end.
func (a *Applications) Drain(why string) {
	a.executors.Drain(why)
	a.table.Drain(why)
}

// EndExecutors stops all executors: the node withdraws what still runs.
func (a *Applications) EndExecutors() {
	a.executors.EndAll("its node drains, and the deadline is over")
}

// Held returns the executors here.
func (a *Applications) Held() wire.Holdings { return a.executors.Held() }

// Present returns which applications have executors here, and how many there are.
func (a *Applications) Present() wire.Present { return a.executors.Present() }

// Logs serves the outputs of executors.
func (a *Applications) Logs() http.Handler { return a.executors.Logs() }

// Files returns the files of applications on this node.
func (a *Applications) Files() *filestore.Store { return a.files }

// Grants returns the table of grants.
func (a *Applications) Grants() *grants.Table { return a.table }

// Start starts the task in an executor of its application, or in a backend process.
func (a *Applications) Start(t backend.Task, done func(backend.Result)) {
	switch {
	case a.table.Knows(t.App):
		a.table.Start(t, done)
	case a.holds.Knows(t.App):
		a.holds.Start(t, done)
	default:
		a.registry.Start(t, done)
	}
}

// Kill kills an attempt, wherever it runs.
func (a *Applications) Kill(id sched.AttemptID) {
	a.table.Kill(id)
	a.holds.Kill(id)
	a.registry.Kill(id)
}

// Close ends the executors, then what is left of grants, held slots and backend processes. It is
// safe twice.
func (a *Applications) Close() {
	if a.executors != nil {
		a.executors.Close()
	}
	a.table.Close()
	a.holds.Close()
	a.registry.Close()
}

// OrderExecutors implements wire.ExecutorManager.
func (a *Applications) OrderExecutors(ctx context.Context, o *wire.Order) (wire.OrderReply, error) {
	return a.executors.OrderExecutors(ctx, o)
}

// Holdings implements wire.ExecutorManager.
func (a *Applications) Holdings(ctx context.Context, frontend string, incarnation, version int64, wait time.Duration) (wire.Holdings, error) {
	return a.executors.Holdings(ctx, frontend, incarnation, version, wait)
}

// AttachExecutor implements wire.Granter.
func (a *Applications) AttachExecutor(ctx context.Context, e wire.ExecutorID, slots int) error {
	return a.table.AttachExecutor(ctx, e, slots)
}

// AwaitGrants implements wire.Granter.
func (a *Applications) AwaitGrants(ctx context.Context, e wire.ExecutorID, after int64, wait time.Duration) (api.Grants, error) {
	return a.table.AwaitGrants(ctx, e, after, wait)
}

// EndGrants implements wire.Granter.
func (a *Applications) EndGrants(ctx context.Context, e wire.ExecutorID, ends []api.GrantEnd) error {
	return a.table.EndGrants(ctx, e, ends)
}
