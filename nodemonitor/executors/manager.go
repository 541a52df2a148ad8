package executors

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/disk"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of what a node holds of applications.
const (
	maxApplications = 1000
	maxEnded        = 100 // ended executors that holdings name, of an application
	maxLogs         = 20  // of those, the folders that are kept
)

// Config is what a Manager needs. The caller must close Guard, Files, Table and Holds, after
// the manager.
type Config struct {
	Node        string
	Incarnation int64    // of the node monitor
	Host        string   // this host as applications address it
	Address     string   // host:port of ExecutorService
	Web         string   // where logs can be read, http://host:port; "" for nowhere
	Folder      string   // of the applications' folders; emptied at the start
	LocalDirs   []string // folders, each on a disk of its own, for local files of executors; none: they are in Folder
	Slots       int      // of the node
	Memory      int64    // MB for executors
	Runtimes    map[string]string
	Lease       time.Duration // silence of a frontend that ends its applications; 0 for 30 s
	Grace       time.Duration // between SIGTERM and SIGKILL; 0 for 5 s
	Limits      bool          // executors are limited as far as a cgroup can
	OutputLimit int64         // bytes of one file of an output; four are kept; 0 for 8 MiB
	Retention   time.Duration // for which outputs are kept after the end of their application; 0 for an hour
	KeptBytes   int64         // of these outputs; 0 for 1 GiB

	Guard    *guard.Client
	Accounts *accounts.Accounts // under which executors run
	Files    *filestore.Store
	Table    Table
	Holds    *grants.Holds
	Fetch    func(address string) (wire.FileKeeper, error) // the frontend at the address
	Disk     *disk.Watch                                   // of the work folder; nil: it counts as good
	Logger   *slog.Logger
}

// Table admits executors to grants; a *grants.Table is one.
type Table interface {
	Admit(app, executor, token string)
	Remove(app, executor, reason string)
	Forget(app string)
	Attached(app, executor string) (attached bool, held int)
}

// Manager runs the executors of the applications of a node. Its goroutine watch ends leases;
// each executor has a goroutine until its process runs.
type Manager struct {
	cfg  Config
	ctx  context.Context // ends the preparations
	stop context.CancelFunc
	work sync.WaitGroup // watch, preparations, and what waits for a disk

	folders  folders
	patience time.Duration // of Close with ends after the grace; tests shorten it

	mu       sync.Mutex
	apps     applications
	version  int64
	wake     chan struct{} // closed and replaced with each version
	living   int           // executors that have not ended
	none     *sync.Cond    // living became 0
	closed   bool
	gaveUp   bool   // Close has waited in vain
	draining string // why no executor is started, "" when one may be
}

// executor is an executor that has not ended. The manager's lock guards it.
type executor struct {
	app       *application
	id        string
	token     string
	slots     int
	folder    string
	state     api.ExecutorState
	cancel    context.CancelFunc // of its preparation
	handle    guard.Handle
	process   bool        // handle is one
	stopping  string      // why it is stopped, "" while it is not
	blameless bool        // the end of its application or node stopped it
	leaving   *time.Timer // until the next look whether it still holds grants; nil while it is to stay
	began     time.Time
}

// New returns a manager without executors.
func New(cfg Config) (*Manager, error) {
	if cfg.Lease == 0 {
		cfg.Lease = 30 * time.Second
	}
	if cfg.Grace == 0 {
		cfg.Grace = 5 * time.Second
	}
	if cfg.OutputLimit == 0 {
		cfg.OutputLimit = 8 << 20
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	k := &kept{root: cfg.Folder + "-ended", retention: cmp.Or(cfg.Retention, time.Hour), limit: cmp.Or(cfg.KeptBytes, 1<<30), log: cfg.Logger}
	if err := renew(&cfg, k); err != nil {
		return nil, &api.Error{Problem: api.Internal, What: "the folders of an earlier process cannot be removed: " + err.Error(), Subject: "folder " + cfg.Folder, Tried: "making room for executors", Next: "remove it, or give the node another work_dir"}
	}
	roots, err := makeRoots(&cfg)
	if err != nil {
		return nil, err
	}
	if dirs := os.Getenv("SPARK_LOCAL_DIRS"); dirs != "" && len(roots) == 0 {
		cfg.Logger.Warn("SPARK_LOCAL_DIRS is ignored: executors of Spark keep their local files in local_dirs of the node, else in their folders below work_dir", "SPARK_LOCAL_DIRS", dirs, "folder", cfg.Folder)
	}
	m := &Manager{cfg: cfg, apps: applications{}, folders: folders{root: cfg.Folder, locals: roots, kept: k, log: cfg.Logger, rename: os.Rename}, patience: disk.DefaultPatience, version: 1, wake: make(chan struct{})}
	m.none = sync.NewCond(&m.mu)
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.work.Go(m.watch)
	return m, nil
}

// changed answers the calls that wait for holdings. It needs the lock.
func (m *Manager) changed() {
	m.version++
	close(m.wake)
	m.wake = make(chan struct{})
}

// watch ends the applications whose frontend is silent, until Close.
func (m *Manager) watch() {
	tick, old := time.NewTicker(m.cfg.Lease/10), time.NewTicker(time.Minute)
	defer tick.Stop()
	defer old.Stop()
	for {
		select {
		case now := <-tick.C:
			m.expire(now)
		case now := <-old.C:
			m.folders.kept.trim(now)
		case <-m.ctx.Done():
			return
		}
	}
}

func (m *Manager) expire(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.apps { // they do not depend on each other
		if silent := now.Sub(a.lastContact); silent > m.cfg.Lease && !a.over {
			m.cfg.Logger.Warn("the frontend of an application is silent; its executors are stopped", "application", a.ID, "frontend", a.frontend, "silent", silent, "executors", len(a.executors))
			m.end(a, "its frontend "+a.frontend+" was silent for "+m.cfg.Lease.String())
		}
	}
}

// Close stops every executor and returns when all have ended and the folders are removed, or when a disk that hangs
// has held that up for too long. It is safe twice.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.changed() // answers the calls that wait for holdings
	for _, a := range m.apps {
		m.end(a, "its node monitor is stopping")
	}
	wait := m.cfg.Grace + m.patience
	if m.gaveUp {
		wait = 0 // once is enough
	}
	m.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.awaitNone()
		m.stop()
		m.work.Wait()
		m.folders.work.Wait()
	}()
	overdue := time.NewTimer(wait)
	defer overdue.Stop()
	select {
	case <-ended:
	case <-overdue.C:
		m.stop()
		m.mu.Lock()
		m.gaveUp = true
		m.mu.Unlock()
	}
}

// awaitNone returns when every executor has ended.
func (m *Manager) awaitNone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.living > 0 {
		m.none.Wait()
	}
}
