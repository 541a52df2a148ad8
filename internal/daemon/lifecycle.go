package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/pigeon-sched/pigeon/internal/audit"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// Lifecycle opens, runs and closes the parts of one daemon. OnClose and
// the methods that open something are for the goroutine that assembles the daemon; the
// others may be called from anywhere. Make one with New.
type Lifecycle struct {
	name string
	log  *slog.Logger

	closers []func() error // in the order of opening

	opening sync.Mutex       // held while the list of servers changes, and while metrics read it
	servers []*server.Server // that Run serves

	credentials *credentials.Credentials // nil before Secure
	audit       *audit.Log               // nil without one
	hosts       []string                 // names of the pages' addresses

	claimed  atomic.Bool // Run or Close was called
	ready    chan struct{}
	readied  sync.Once
	stopping chan struct{} // closed when Run begins to end
	failed   chan error    // of size 1: the first reason
}

// New returns the lifecycle of a daemon that has opened nothing yet. name is its
// role as it appears in errors: "frontend".
func New(name string, log *slog.Logger) *Lifecycle {
	return &Lifecycle{name: name, log: log, ready: make(chan struct{}), stopping: make(chan struct{}), failed: make(chan error, 1)}
}

// OnClose registers the closing of a part. Parts are closed in the reverse order of
// registration.
func (l *Lifecycle) OnClose(end func() error) { l.closers = append(l.closers, end) }

// Ready is closed when the daemon can serve others.
func (l *Lifecycle) Ready() <-chan struct{} { return l.ready }

// MarkReady closes Ready. It may be called more than once.
func (l *Lifecycle) MarkReady() { l.readied.Do(func() { close(l.ready) }) }

// Stopping is closed when Run begins to end.
func (l *Lifecycle) Stopping() <-chan struct{} { return l.stopping }

// Fail ends the daemon with a reason, which Run returns. Later reasons are dropped.
func (l *Lifecycle) Fail(reason error) {
	select {
	case l.failed <- reason:
	default:
	}
}

// Parts is what Run runs, in the order in which it is started. Only Owner is
// required.
type Parts struct {
	// Standby, if set, runs first, while the servers answer already: it returns when this
	// process may begin what follows. An error, or the end of ctx, ends the daemon.
	Standby func(ctx context.Context) error
	// Connect opens what New could not: it may reach other processes.
	Connect func() error
	// Owner is the owner goroutine. It runs until everything else has ended.
	Owner func(ctx context.Context)
	// Tasks run until the daemon stops. A task that cannot continue calls Fail.
	Tasks []func(ctx context.Context)
	// Started is called when all of the above run.
	Started func()

	// Wake is called when the daemon begins to stop, to answer callers that wait for
	// an event that will not happen any more.
	Wake func()
	// Drain is called when the tasks have ended and the servers still run.
	Drain func()
	// Drained is called when the servers have ended and the owner still runs.
	Drained func() error

	// Replaced, if set, reports whether the program continues with another daemon after this
	// failure. The program then logs the change itself, and it is not an error.
	Replaced func(error) bool
}

// Run serves until ctx is done or a part fails, stops the parts in order, closes
// what was opened and returns the first failure joined with errors of closing. It
// may be called once.
func (l *Lifecycle) Run(ctx context.Context, p Parts) error {
	if !l.claim() {
		return fmt.Errorf("the %s was already run or closed; make a new one", l.name)
	}
	var servers *sync.WaitGroup
	stopServers := func() {}
	if p.Standby != nil {
		servers, stopServers = l.serve()
	}
	err := l.standBy(ctx, p.Standby)
	if err == nil && (p.Standby == nil || ctx.Err() == nil) {
		err = call(p.Connect)
	}
	if err != nil || (p.Standby != nil && ctx.Err() != nil) {
		close(l.stopping)
		stopServers()
		if servers != nil {
			servers.Wait()
		}
		return errors.Join(err, l.close())
	}
	owner := start(p.Owner)
	if servers == nil {
		servers, stopServers = l.serve()
	}
	err = l.runTasks(ctx, p)
	run(p.Drain)
	stopServers()
	servers.Wait()
	if err == nil {
		err = l.failure()
	}
	err = errors.Join(err, call(p.Drained))
	owner.stop()
	return errors.Join(err, l.close())
}

// standBy runs the standby, if there is one, until it returns or the daemon fails.
func (l *Lifecycle) standBy(ctx context.Context, standby func(context.Context) error) error {
	if standby == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- standby(ctx) }()
	select {
	case err := <-done:
		return err
	case err := <-l.failed:
		cancel()
		if ended := <-done; !errors.Is(ended, context.Canceled) {
			err = errors.Join(err, ended)
		}
		return err
	}
}

// failure returns a reason that came while the daemon was stopping.
func (l *Lifecycle) failure() error {
	select {
	case err := <-l.failed:
		return err
	default:
		return nil
	}
}

// serve starts the servers. One that ends by itself ends the daemon: a daemon that
// cannot be reached must not look alive.
func (l *Lifecycle) serve() (all *sync.WaitGroup, stop func()) {
	ctx, stop := context.WithCancel(context.Background())
	all = new(sync.WaitGroup)
	for _, s := range l.servers {
		all.Go(func() {
			if err := s.Run(ctx); err != nil {
				l.Fail(err)
			}
		})
	}
	return all, stop
}

// runTasks runs the tasks until ctx is done or a part fails, and returns when they have
// ended. The error is the first failure, nil when ctx ended the daemon.
func (l *Lifecycle) runTasks(ctx context.Context, p Parts) error {
	tasks, ctx := errgroup.WithContext(ctx)
	for _, task := range p.Tasks {
		tasks.Go(func() error { task(ctx); return nil })
	}
	tasks.Go(func() error {
		select {
		case err := <-l.failed:
			return err
		case <-ctx.Done():
			return nil
		}
	})
	run(p.Started)
	<-ctx.Done()
	close(l.stopping)
	run(p.Wake)
	err := tasks.Wait()
	if err != nil && (p.Replaced == nil || !p.Replaced(err)) {
		l.log.Error("the "+l.name+" ends", "error", err)
	}
	return err
}

// Close frees what was opened if Run was never called. It may be called twice, and does
// nothing after Run.
func (l *Lifecycle) Close() error {
	if !l.claim() {
		return nil
	}
	return l.close()
}

// claim reports whether this is the first call of Run or Close.
func (l *Lifecycle) claim() bool { return l.claimed.CompareAndSwap(false, true) }

func (l *Lifecycle) close() (err error) {
	for _, end := range slices.Backward(l.closers) {
		err = errors.Join(err, end())
	}
	return err
}

// process is a goroutine that runs until stop.
type process struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func start(run func(context.Context)) process {
	ctx, cancel := context.WithCancel(context.Background())
	p := process{cancel, make(chan struct{})}
	go func() {
		defer close(p.done)
		run(ctx)
	}()
	return p
}

// stop returns when the goroutine has ended.
func (p process) stop() {
	p.cancel()
	<-p.done
}

func run(f func()) {
	if f != nil {
		f()
	}
}

func call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}
