package process

import (
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
)

// Config is what a Backend needs. The caller closes the guard and the logs, after the
// backend.
type Config struct {
	Guard    *guard.Client
	Logs     *logs.Store
	Accounts *accounts.Accounts // as whom processes run
	Node     string             // the node's id
	Grace    time.Duration      // between SIGTERM and SIGKILL; 0 for 2 s, negative for none
	Limit    int64              // bytes kept of the beginning of each output; 0 for 1 GiB
	// MaxProcesses is how many processes and threads a task may have; 0 for no limit.
	MaxProcesses int
	// LongWeight is the share of the processor of a long task where a short one, which has 100,
	// wants it too; 0 for the same.
	LongWeight int
	Logger     *slog.Logger // for logs that cannot be removed
}

// Old logs are removed sweepEvery when no attempt ends, and sweepRest after the last time when
// attempts end one after another: a look at many costs less than one at each.
const (
	sweepEvery = 10 * time.Second
	sweepRest  = 200 * time.Millisecond
)

// Backend runs processes. One goroutine of its own, sweep, drops old logs from
// New to Close.
type Backend struct {
	cfg  Config
	kick chan struct{} // an attempt ended; holds one
	stop chan struct{}
	gone chan struct{} // closed when sweep has ended

	mu     sync.Mutex
	idle   *sync.Cond // runs became empty
	runs   map[sched.AttemptID]*run
	closed bool
}

var (
	_ backend.Backend   = (*Backend)(nil)
	_ backend.Suspender = (*Backend)(nil)
)

// New returns a backend.
func New(cfg Config) *Backend {
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Second
	}
	if cfg.Limit == 0 {
		cfg.Limit = 1 << 30
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Backend{
		cfg: cfg, kick: make(chan struct{}, 1), stop: make(chan struct{}), gone: make(chan struct{}),
		runs: make(map[sched.AttemptID]*run),
	}
	b.idle = sync.NewCond(&b.mu)
	go b.sweep()
	return b
}

// Start has the guard start the process of t.Payload.Exec.
func (b *Backend) Start(t backend.Task, done func(backend.Result)) {
	if r, refused := b.admit(t, done); refused {
		done(r)
	}
}

// admit passes the task to the guard, or returns the result of one that ends here.
func (b *Backend) admit(t backend.Task, done func(backend.Result)) (backend.Result, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return backend.Result{ID: t.ID, Outcome: sched.Killed, Reason: backend.Stopping}, true
	}
	r := &run{b: b, task: t, done: done, input: newInput(t.Payload.Exec)}
	if f := r.fault(); f != nil {
		return r.failed(f), true
	}
	as, f := b.cfg.Accounts.Of(t.Payload.Submitter)
	if f != nil {
		res := r.failed(f)
		res.Code = api.CodeNotAllowed
		return res, true
	}
	files, err := b.cfg.Logs.Begin(t.ID)
	if err != nil {
		return r.failed(&guard.Fault{What: "there is no room for its logs: " + err.Error(), Next: "free disk space on the node, or have logs kept for less time"}), true
	}
	r.handle, err = b.cfg.Guard.Start(r.spec(files, as), r.event)
	if err != nil {
		b.cfg.Logs.End(t.ID, true)
		return r.failed(&guard.Fault{What: "it was not started: " + err.Error(), Next: "give the node fewer slots, or wait for other tasks to end"}), true
	}
	b.runs[t.ID] = r
	return backend.Result{}, false
}

// TakeOver continues an attempt that an earlier process has started, and calls done when it
// has ended.
func (b *Backend) TakeOver(h *guard.Held, t backend.Task, done func(backend.Result)) {
	r := &run{b: b, task: t, done: done, handle: h.Handle, input: newInput(t.Payload.Exec)}
	r.input.change(func() { r.input.began, r.input.state = h.Began, h.Input })
	if h.Began {
		r.started = time.Now().Add(-h.Ran)
	}
	b.cfg.Logs.Continue(t.ID)
	b.mu.Lock()
	b.runs[t.ID] = r
	b.mu.Unlock()
	b.cfg.Guard.Claim(h.Handle, r.event)
}

// Leave ends the backend and leaves its processes to the guard, for the next process of the
// node monitor. Ends are reported until the guard's client has left, too.
func (b *Backend) Leave() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.stop)
	}
	for _, r := range b.runs {
		r.input.change(func() { r.input.over = true }) // who waits asks the next process
	}
	clear(b.runs)
	b.mu.Unlock()
	<-b.gone
}

// Kill ends the process group, gently at first.
func (b *Backend) Kill(id sched.AttemptID) {
	if r := b.find(id); r != nil {
		b.cfg.Guard.Kill(r.handle, b.cfg.Grace)
	}
}

// Suspend stops the process group. A process that left the group runs on.
func (b *Backend) Suspend(id sched.AttemptID) error {
	if r := b.find(id); r == nil || !b.cfg.Guard.Suspend(r.handle) {
		return backend.NotRunning(id, "suspending it")
	}
	return nil
}

// Resume continues the process group.
func (b *Backend) Resume(id sched.AttemptID) error {
	if r := b.find(id); r == nil || !b.cfg.Guard.Resume(r.handle) {
		return backend.NotRunning(id, "resuming it")
	}
	return nil
}

func (b *Backend) find(id sched.AttemptID) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[id]
}

// Close kills every process of this backend, with the grace, and waits for their
// ends.
func (b *Backend) Close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.stop)
	}
	for _, r := range b.runs {
		b.cfg.Guard.Kill(r.handle, b.cfg.Grace)
	}
	for len(b.runs) > 0 {
		b.idle.Wait()
	}
	b.mu.Unlock()
	<-b.gone
}

// ended calls done for the attempt and removes it, which may let Close return. Silent says that
// it has no outputs.
func (b *Backend) ended(r *run, result backend.Result, silent bool) {
	b.cfg.Logs.End(r.task.ID, silent)
	r.input.change(func() { r.input.over = true })
	r.done(result)
	b.mu.Lock()
	delete(b.runs, r.task.ID)
	b.mu.Unlock()
	b.idle.Broadcast()
	select {
	case b.kick <- struct{}{}:
	default: // a sweep is due already
	}
}

// sweep drops old logs until Close.
func (b *Backend) sweep() {
	defer close(b.gone)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-b.kick:
		case <-tick.C:
		}
		if err := b.cfg.Logs.Sweep(); err != nil {
			b.cfg.Logger.Warn("old logs of this node could not all be removed; remove them by hand", "error", err)
		}
		select {
		case <-b.stop:
			return
		case <-time.After(sweepRest):
		}
	}
}
