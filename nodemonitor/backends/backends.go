package backends

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/process"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/sleep"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/nodemonitor/disk"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/nodemonitor/staging"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Events is called with changes of the slots, by any goroutine, without a lock held.
type Events interface {
	SlotAdded(s app.Slot)
	SlotGone(s app.Slot, reason string)
	// ServesChanged is called when Serves has changed.
	ServesChanged()
	// DiskChanged is called with a fault of the disk of the work folder, and with "" when it is over. A
	// lock may be held: it may not call the Set.
	DiskChanged(fault string)
	// GuardChanged is called with each change of the health of the guard, likewise.
	GuardChanged(guard.Health)
}

// Config is what a Set needs.
type Config struct {
	Node   string
	Slots  int
	Folder string        // of the node
	Guard  *guard.Client // nil: one is started; else it stays the caller's to close
	// Accounts says as whom processes run.
	Accounts *accounts.Accounts
	// RestartGrace is how long processes outlive this one; 0: not at all. Owner is whose
	// they are.
	RestartGrace time.Duration
	Owner        string
	MaxProcesses int
	Grace        time.Duration // between SIGTERM and SIGKILL; 0 for none
	OutputLimit  int64
	// MaxTaskProcesses, LongWeight and Cgroup are how the processes of tasks are limited, as
	// packages process and guard have them; ExecutorLimits has executors limited as well.
	MaxTaskProcesses int
	LongWeight       int
	Cgroup           string
	ExecutorLimits   bool
	LogRetention     time.Duration
	LogLimit         int64
	StageCache       int64 // bytes of files that were sent with jobs
	MinFreeDisk      int64 // bytes; as logs.Store.Probe has it
	MaxBackends      int   // 0: none
	MaxMessages      int
	GrantLease       time.Duration
	Policy           string
	NoProcesses      bool // the policy runs sleep and exec tasks only
	Events           Events
	ToFrontends      client.Security                               // of calls to frontends
	Fetch            func(address string) (wire.FileKeeper, error) // the frontend at the address
	OnClose          func(func() error)                            // registers what is to be closed, the last first
	Log              *slog.Logger
}

// Set is the backends of a node. It is safe for concurrent use.
type Set struct {
	cfg      Config
	guard    *guard.Client
	logs     *logs.Store
	byKind   map[api.Backend]backend.Backend
	registry *app.Registry
	launches *connections.Pools // to backend processes
	messages *messages
	apps     *Applications
	sleeps   *sleep.Backend
	execs    *process.Backend
	staged   *staging.Store // the files that were sent with jobs
	disk     *disk.Watch
	leaving  atomic.Bool // what is closed leaves its processes to the next process
}

// Open opens the backends; the executors follow by OpenExecutors. When it fails, the
// parts that it has opened are registered to be closed.
func Open(cfg Config) (s *Set, err error) {
	s = &Set{cfg: cfg, guard: cfg.Guard, launches: connections.New("backend", client.Security{})}
	if s.logs, err = logs.Open(logs.Config{Root: cfg.Folder, Retention: cfg.LogRetention, MaxBytes: cfg.LogLimit, Passable: cfg.Accounts.Others(), Former: true, Log: cfg.Log}); err != nil {
		return nil, err
	}
	cfg.OnClose(s.logs.Close)
	if s.guard == nil {
		s.guard = guard.New(guard.Options{MaxRunning: cfg.MaxProcesses, Grace: cfg.RestartGrace, Folder: cfg.Folder, Owner: cfg.Owner, Cgroup: cfg.Cgroup, Log: cfg.Log})
		cfg.OnClose(func() error {
			if s.leaving.Load() {
				s.guard.Leave()
			} else {
				s.guard.Close(cfg.Grace)
			}
			return nil
		})
	}
	unwatch := s.guard.Watch(cfg.Events.GuardChanged)
	cfg.OnClose(func() error {
		unwatch()
		return nil
	})
	grace := cfg.Grace
	if grace == 0 {
		grace = -1 // none, as package process has it
	}
	s.messages = newMessages(cfg.Log, cfg.MaxMessages, cfg.ToFrontends)
	s.registry = app.New(app.Config{
		Launch: s.launch, Events: registryEvents{cfg.Events}, Node: cfg.Node, FirstSlot: int32(cfg.Slots), //nolint:gosec // validated
		MaxBackends: cmp.Or(cfg.MaxBackends, -1), Logger: cfg.Log, // none for 0, as package app has it
	})
	s.apps = &Applications{
		registry: s.registry, holds: grants.NewHolds(cfg.Node, cfg.Events.ServesChanged),
		table: grants.New(grants.Config{Node: cfg.Node, Slots: cfg.Slots, Lease: cfg.GrantLease, Changed: cfg.Events.ServesChanged}),
	}
	s.disk = disk.New(disk.Config{Probe: func() error { return s.logs.Probe(cfg.MinFreeDisk) }, Changed: cfg.Events.DiskChanged, Unanswered: func() { s.execs.GiveBackWaiting() }, Log: cfg.Log})
	staged, err := staging.Open(staging.Config{Folder: filepath.Join(cfg.Folder, "staged"), Bytes: cfg.StageCache, Dial: cfg.Fetch})
	if err != nil {
		return nil, err
	}
	s.sleeps, s.staged = sleep.New(), staged
	s.execs = process.New(process.Config{Guard: s.guard, Staged: staged, Disk: s.disk, Logs: s.logs, Accounts: cfg.Accounts, Node: cfg.Node, Grace: grace, Limit: cfg.OutputLimit, Logger: cfg.Log, MaxProcesses: cfg.MaxTaskProcesses, LongWeight: cfg.LongWeight})
	s.byKind = map[api.Backend]backend.Backend{api.BackendSleep: s.sleeps, api.BackendApp: s.apps, api.BackendExec: s.execs}
	cfg.OnClose(func() error {
		if s.leaving.Load() {
			s.Leave()
		} else {
			s.KillAll()
		}
		s.messages.close()
		s.launches.Close()
		return nil
	})
	return s, nil
}

// registryEvents passes the registry's events on.
type registryEvents struct{ Events }

// ServesChanged implements app.Events.
func (e registryEvents) ServesChanged([]string) { e.Events.ServesChanged() }

// ByKind returns the backends by the kinds that payloads name.
func (s *Set) ByKind() map[api.Backend]backend.Backend { return s.byKind }

// Enforces returns by what the limits of processes are enforced.
func (s *Set) Enforces() guard.LimitState { return s.guard.Enforces() }

// Input gives a piece of standard input to an exec task that runs here.
func (s *Set) Input(ctx context.Context, id sched.AttemptID, p *process.Piece) (guard.InputState, error) {
	return s.execs.Input(ctx, id, p)
}

// Logs returns the outputs of exec tasks. Nothing is dropped of them before its Continued is called.
func (s *Set) Logs() *logs.Store { return s.logs }

// GuardHealth returns the health of the guard.
func (s *Set) GuardHealth() guard.Health { return s.guard.Health() }

// Strays returns how many processes had outlived their attempts, and were killed.
func (s *Set) Strays() uint64 { return s.guard.Strays() }

// Disk returns the watch over the disk of the work folder, which nobody runs yet.
func (s *Set) Disk() *disk.Watch { return s.disk }

// Applications returns the backend of the tasks of applications.
func (s *Set) Applications() *Applications { return s.apps }

// StagedFiles returns what became of the files that were sent with jobs.
func (s *Set) StagedFiles() filestore.Stats { return s.staged.Stats() }

// Serves returns, sorted, the applications with a resident backend, with an executor that
// has room, or with one that waits for its slots.
func (s *Set) Serves() []string {
	serves := slices.Concat(s.registry.Serves(), s.apps.table.Serving(), s.apps.holds.Serving())
	slices.Sort(serves)
	return slices.Compact(serves)
}

// BackendStats returns the counts of backend processes.
func (s *Set) BackendStats() app.Stats { return s.registry.Stats() }

// MessageStats returns the counts of messages of backend processes.
func (s *Set) MessageStats() relay.Stats { return s.messages.relay.Stats() }

// KillAll ends everything that runs; when it returns every end has been reported. It is
// safe twice.
func (s *Set) KillAll() {
	for _, b := range []api.Backend{api.BackendApp, api.BackendExec, api.BackendSleep} {
		s.byKind[b].Close()
	}
}

// DrainMessages refuses further messages of backend processes and returns when none
// waits, or ctx ends.
func (s *Set) DrainMessages(ctx context.Context) { s.messages.drain(ctx) }

// launch launches a task in the backend process at the address.
func (s *Set) launch(ctx context.Context, address string, t *backend.Task) error {
	pool, err := s.launches.At(address)
	if err != nil {
		return err
	}
	s.messages.frontends.launched(t.Frontend) // before the task can send a message
	ref := wire.TaskRef{Task: t.TaskName, Job: t.JobName, App: api.PlainApp(t.App), Scheduler: t.Frontend, HT: t.HT}
	err = wire.NewBackendClient(pool).LaunchTask(ctx, t.Payload.Message, ref, wire.User{Name: t.User, Group: t.Group, Priority: t.Priority})
	var unanswered *client.CallError
	switch {
	case errors.As(err, &unanswered) && unanswered.Sent && closedByPeer(unanswered.Cause):
		return fmt.Errorf("%w: %w", app.ErrClosed, err)
	case err == nil || unanswered != nil || errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %w", app.ErrRefused, err)
}

// closedByPeer reports whether a connection was closed by the other side.
func closedByPeer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
