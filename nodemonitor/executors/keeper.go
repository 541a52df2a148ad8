package executors

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of what a node holds of applications.
const (
	maxApplications = 1000
	maxEnded        = 100 // ended executors that holdings name, of an application
	maxLogs         = 20  // of those, the folders that are kept
)

// Config is what a Keeper needs. Guard, Files, Table and Holds stay the caller's to
// close, after the keeper.
type Config struct {
	Node        string
	Incarnation int64  // of the node monitor
	Host        string // this host as applications know it
	Address     string // host:port of ExecutorService
	Web         string // where logs can be read, http://host:port; "" for nowhere
	Folder      string // of the applications' folders; emptied at the start
	Slots       int    // of the node
	Memory      int64  // MB for executors
	Runtimes    map[string]string
	Lease       time.Duration // silence of a frontend that ends its applications; 0 for 30 s
	Grace       time.Duration // between SIGTERM and SIGKILL; 0 for 5 s
	OutputLimit int64         // bytes of one file of an output; four are kept; 0 for 8 MiB

	Guard  *guard.Client
	Files  *files.Store
	Table  Table
	Holds  Holds
	Fetch  func(address string) (wire.FileKeeper, error) // the frontend at the address
	Logger *slog.Logger
}

// Table admits executors to grants; a *grants.Table does.
type Table interface {
	Admit(app, executor, token string)
	Remove(app, executor, reason string)
	Forget(app string)
	Attached(app, executor string) (attached bool, held int)
}

// Holds waits for the slots of executors that take no grants; a *grants.Holds does.
type Holds interface {
	Hold(app, executor string, slots int, full func())
	Holding(app, executor string) int
	Release(app, executor string)
}

// Keeper runs the executors of the applications of a node. One goroutine of its own, watch, ends
// leases, and each executor has one until its process runs.
type Keeper struct {
	cfg  Config
	ctx  context.Context // ends the preparations
	stop context.CancelFunc
	work sync.WaitGroup // watch, preparations, removals of folders

	mu      sync.Mutex
	apps    map[string]*application
	version int64
	wake    chan struct{} // closed and replaced with each version
	living  int           // executors that have not ended
	gone    int           // applications that are over
	none    *sync.Cond    // living became 0
	closed  bool
}

// application is an application that has executors here. The keeper's lock guards it.
type application struct {
	api.Application
	frontend    string
	address     string // of the frontend
	tenure      int64
	sequence    int64
	lastContact time.Time // with its frontend
	executors   map[string]*executor
	ended       []wire.HeldExecutor // the oldest first
	known       map[string]bool     // ids in ended and executors
	last        int
	over        bool // its executors are stopped and nothing more starts
	folder      string
}

// executor is an executor that has not ended. The keeper's lock guards it.
type executor struct {
	app       *application
	id        string
	token     string
	slots     int
	folder    string
	state     api.ExecutorState
	cancel    context.CancelFunc // of its preparation
	handle    guard.Handle
	process   bool   // handle is one
	stopping  string // why it is stopped, "" while it is not
	blameless bool   // stopped for no reason of its own, and not by its application
	began     time.Time
}

// New returns a keeper without executors.
func New(cfg Config) (*Keeper, error) {
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
	if err := os.RemoveAll(cfg.Folder); err != nil {
		return nil, &api.Error{Problem: api.Internal, What: "what an earlier process left cannot be removed: " + err.Error(), Subject: "folder " + cfg.Folder, Tried: "making room for executors", Next: "remove it, or give the node another work_dir"}
	}
	k := &Keeper{cfg: cfg, apps: map[string]*application{}, version: 1, wake: make(chan struct{})}
	k.none = sync.NewCond(&k.mu)
	k.ctx, k.stop = context.WithCancel(context.Background())
	k.work.Go(k.watch)
	return k, nil
}

// changed answers the calls that wait for holdings. It needs the lock.
func (k *Keeper) changed() {
	k.version++
	close(k.wake)
	k.wake = make(chan struct{})
}

// watch ends the applications whose frontend is silent, until Close.
func (k *Keeper) watch() {
	tick := time.NewTicker(k.cfg.Lease / 10)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			k.expire(now)
		case <-k.ctx.Done():
			return
		}
	}
}

func (k *Keeper) expire(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range k.apps { // they do not depend on each other
		if silent := now.Sub(a.lastContact); silent > k.cfg.Lease && !a.over {
			k.cfg.Logger.Warn("the frontend of an application is silent; its executors are stopped", "application", a.ID, "frontend", a.frontend, "silent", silent, "executors", len(a.executors))
			k.end(a, "its frontend "+a.frontend+" was silent for "+k.cfg.Lease.String())
		}
	}
}

// Close stops every executor and returns when all are gone with their folders.
// It is safe twice.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.closed = true
	k.changed() // answers the calls that wait for holdings
	for _, a := range k.apps {
		k.end(a, "its node monitor is stopping")
	}
	for k.living > 0 {
		k.none.Wait()
	}
	k.mu.Unlock()
	k.stop()
	k.work.Wait()
}
