package process

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/nodemonitor/disk"
	"github.com/pigeon-sched/pigeon/nodemonitor/staging"
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
	Staged     *staging.Store // brings the files that were sent with jobs; nil: such tasks fail
	Disk       *disk.Watch    // of the work folder; nil: it counts as good
	Logger     *slog.Logger   // for logs that cannot be removed
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

	makeJob  func(sched.AttemptID) error // Logs.Make; tests replace it
	patience time.Duration               // of Close with ends after the grace; tests shorten it
	aside    sync.WaitGroup              // preparations, and what besides calls

	mu     sync.Mutex
	idle   *sync.Cond // runs became empty
	runs   map[sched.AttemptID]*run
	closed bool
	gaveUp bool // Close has waited in vain
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
		runs: make(map[sched.AttemptID]*run), makeJob: cfg.Logs.Make, patience: disk.DefaultPatience,
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
	r := &run{b: b, task: t, done: done, guard: b.cfg.Guard, input: newInput(t.Payload.Exec)}
	if f := r.fault(); f != nil {
		return r.failed(f), true
	}
	as, f, found := b.cfg.Accounts.Remembered(t.Payload.Submitter)
	if f != nil {
		return r.notAllowed(f), true
	}
	files, made, err := b.cfg.Logs.Begin(t.ID)
	if err != nil {
		return r.failed(&guard.Fault{What: "its logs cannot be kept: " + err.Error(), Next: "report this: an attempt must not start twice"}), true
	}
	if !found || !made || r.isStaged() {
		b.prepare(r, files, made)
		return backend.Result{}, false
	}
	spec := r.spec(files, as)
	if f := r.launch(spec); f != nil {
		b.cfg.Logs.NotTaken(r.spare)
		b.cfg.Logs.End(t.ID, true)
		return r.failed(f), true
	}
	b.runs[t.ID] = r
	return backend.Result{}, false
}

// launch passes the process to the guard. The backend's lock is held.
func (r *run) launch(spec guard.Spec) (f *guard.Fault) {
	if r.task.Apart {
		r.guard, spec.Note = r.b.cfg.Guard.Apart(), nil // it ends with this process
	}
	var err error
	if r.handle, err = r.guard.Start(spec, r.event); err != nil {
		r.endGuard()
		f = guard.FaultOf("it was not started", err)
	}
	return f
}

// endGuard ends the guard that the attempt has of its own, if it has one. The backend's lock is held.
func (r *run) endGuard() {
	if g := r.guard; g != r.b.cfg.Guard {
		r.b.aside.Go(func() { g.Close(0) })
	}
}

// TakeOver continues an attempt that an earlier process has started, and calls done when it
// has ended.
func (b *Backend) TakeOver(h *guard.Held, t backend.Task, done func(backend.Result)) {
	r := &run{b: b, task: t, done: done, guard: b.cfg.Guard, handle: h.Handle, input: newInput(t.Payload.Exec)}
	r.input.change(func() { r.input.began, r.input.state = h.Began, h.Input })
	if r.known = h.Began; h.Began {
		r.started = time.Now().Add(-h.Ran)
	}
	b.cfg.Logs.Continue(t.ID)
	b.mu.Lock()
	b.runs[t.ID] = r
	b.mu.Unlock()
	b.cfg.Guard.Claim(h.Handle, t.Subject(), r.event)
}

// Leave ends the backend and leaves its processes to the guard, for the next process of the
// node monitor. Ends are reported until the guard's client has left, too.
func (b *Backend) Leave() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.stop)
	}
	var folders []*preparation
	for _, r := range b.runs {
		r.input.change(func() { r.input.over = true }) // who waits asks the next process
		if r.preparing != nil && !r.isStaged() {
			folders = append(folders, r.preparing) // the guard has it in a moment
		}
	}
	b.mu.Unlock()
	awaitAll(folders)
	var left []*run
	b.mu.Lock()
	for id, r := range b.runs {
		switch {
		case r.preparing == nil && r.guard != b.cfg.Guard: // its guard ends with this process
			if r.takeEnd() {
				left = append(left, r)
			}
			r.endGuard()
		case r.preparing == nil:
			delete(b.runs, id)
		case r.claimEnd(errLeft):
			left = append(left, r) // no other process would know it
		}
	}
	b.mu.Unlock()
	for _, r := range left {
		r.done(backend.Result{ID: r.task.ID, Outcome: sched.Yielded, Reason: errLeft.Error()})
	}
	b.aside.Wait()
	<-b.gone
}

// Kill ends the process group, gently at first. An attempt that is still prepared has ended when it
// returns.
func (b *Backend) Kill(id sched.AttemptID) {
	b.mu.Lock()
	r := b.runs[id]
	if r == nil {
		b.mu.Unlock()
		return
	}
	prepared, ended := r.preparing != nil, r.preparing != nil && r.claimEnd(errKilled)
	b.mu.Unlock()
	switch {
	case ended:
		r.done(backend.Result{ID: id, Outcome: sched.Killed})
	case !prepared:
		r.guard.Kill(r.handle, b.cfg.Grace)
	}
}

// Suspend stops the process group. A process that left the group runs on.
func (b *Backend) Suspend(id sched.AttemptID) error {
	if b.whilePrepared(id, (*preparation).suspend) {
		return nil
	}
	if r := b.find(id); r == nil || !r.guard.Suspend(r.handle) {
		return backend.NotRunning(id, "suspending it")
	}
	return nil
}

// Resume continues the process group.
func (b *Backend) Resume(id sched.AttemptID) error {
	if b.whilePrepared(id, (*preparation).resume) {
		return nil
	}
	if r := b.find(id); r == nil || !r.guard.Resume(r.handle) {
		return backend.NotRunning(id, "resuming it")
	}
	return nil
}

// find returns an attempt that the guard has, nil for none.
func (b *Backend) find(id sched.AttemptID) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.runs[id]; r != nil && r.preparing == nil {
		return r
	}
	return nil
}

// Close kills every process of this backend, with the grace, and waits for their ends. A disk that hangs may hold
// these up: the attempts whose ends are overdue are reported as killed all the same, so that their tasks begin
// elsewhere, and their processes are left to the end of the guard. What must have ended before another attempt
// begins is waited for.
func (b *Backend) Close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.stop)
	}
	var ended []*run
	for _, r := range b.runs {
		switch {
		case r.preparing == nil:
			r.guard.Kill(r.handle, b.cfg.Grace)
		case r.claimEnd(errKilled):
			ended = append(ended, r)
		}
	}
	b.mu.Unlock()
	for _, r := range ended {
		r.done(backend.Result{ID: r.task.ID, Outcome: sched.Killed, Reason: backend.Stopping})
	}
	all := make(chan struct{})
	go func() {
		defer close(all)
		b.await(func(*run) bool { return true })
		b.aside.Wait()
		<-b.gone
	}()
	overdue := time.NewTimer(b.closeWait())
	defer overdue.Stop()
	select {
	case <-all:
	case <-overdue.C:
		b.reportOverdue()
		b.await(func(r *run) bool { return r.task.Alone })
	}
}

// closeWait returns how long Close waits for ends, which is once only.
func (b *Backend) closeWait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gaveUp {
		return 0
	}
	return max(b.cfg.Grace, 0) + b.patience
}

// await returns when none of the attempts that are meant is left.
func (b *Backend) await(meant func(*run) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for slices.ContainsFunc(slices.Collect(maps.Values(b.runs)), meant) {
		b.idle.Wait()
	}
}

// reportOverdue reports the ends of the attempts that have been killed and have not ended.
func (b *Backend) reportOverdue() {
	var overdue []*run
	b.mu.Lock()
	b.gaveUp = true
	for _, r := range b.runs {
		if !r.task.Alone && r.takeEnd() {
			overdue = append(overdue, r)
		}
	}
	b.mu.Unlock()
	for _, r := range overdue {
		r.done(backend.Result{ID: r.task.ID, Outcome: sched.Killed, Reason: backend.Stopping})
	}
	if len(overdue) > 0 {
		b.cfg.Logger.Warn("attempts were killed and have not ended; they are given back, and are left to the end of the guard", "attempts", len(overdue), "grace", b.cfg.Grace)
	}
}

// besides calls do, which may wait for the disk, without keeping events of other attempts waiting; once the
// backend has ended, it calls do at once.
func (b *Backend) besides(do func()) {
	b.mu.Lock()
	closed := b.closed
	if !closed {
		b.aside.Go(do)
	}
	b.mu.Unlock()
	if closed {
		do()
	}
}

// ended calls done for the attempt and removes it, which may let Close return. Silent says that
// it has no outputs.
func (b *Backend) ended(r *run, result backend.Result, silent bool) {
	b.cfg.Logs.NotTaken(r.spare) // if the process was never started
	b.cfg.Logs.End(r.task.ID, silent)
	r.input.change(func() { r.input.over = true })
	b.mu.Lock()
	reports := r.takeEnd()
	b.mu.Unlock()
	if reports {
		r.done(result)
	}
	b.mu.Lock()
	r.endGuard()
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
		if !b.cfg.Logs.Pending() {
			select {
			case <-b.stop:
				return
			case <-b.kick:
			case <-tick.C:
			}
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
