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

	"github.com/pigeon-sched/pigeon/thrift/server"
)

// Lifecycle opens, runs and closes the parts of one daemon. New makes it; OnClose
// and the methods that open something are for the goroutine that assembles the
// daemon, the rest may be called from anywhere.
type Lifecycle struct {
	name string
	log  *slog.Logger

	closers []func() error   // of what was opened, in that order
	servers []*server.Server // that Run serves

	claimed  atomic.Bool // Run or Close was called
	ready    chan struct{}
	readied  sync.Once
	stopping chan struct{} // closed when Run begins to end
	failed   chan error    // of size 1: the first reason
}

// New returns the lifecycle of a daemon that has opened nothing yet. name is its
// role, as errors have it: "frontend".
func New(name string, log *slog.Logger) *Lifecycle {
	return &Lifecycle{name: name, log: log, ready: make(chan struct{}), stopping: make(chan struct{}), failed: make(chan error, 1)}
}

// OnClose has a part closed at the end: the part that was registered last is
// closed first.
func (l *Lifecycle) OnClose(end func() error) { l.closers = append(l.closers, end) }

// Ready is closed when the daemon is of use to others.
func (l *Lifecycle) Ready() <-chan struct{} { return l.ready }

// MarkReady closes Ready. It is safe to call again.
func (l *Lifecycle) MarkReady() { l.readied.Do(func() { close(l.ready) }) }

// Stopping is closed when Run begins to end.
func (l *Lifecycle) Stopping() <-chan struct{} { return l.stopping }

// Fail ends the daemon with a reason, which Run returns. The first reason counts.
func (l *Lifecycle) Fail(reason error) {
	select {
	case l.failed <- reason:
	default:
	}
}

// Parts is what Run runs, in the order in which it is started. Only Owner is
// required.
type Parts struct {
	// Connect opens what New could not: it may reach other processes.
	Connect func() error
	// Owner is the owner goroutine. It runs until everything else has ended.
	Owner func(ctx context.Context)
	// Tasks run until the daemon stops. One that cannot go on calls Fail.
	Tasks []func(ctx context.Context)
	// Started is called when all of the above runs.
	Started func()

	// Wake is called when the daemon begins to stop, to answer callers that wait
	// for something that will not happen any more.
	Wake func()
	// Drain is called when the tasks have ended; the servers still answer.
	Drain func()
	// Drained is called when the servers have ended too, before the owner does.
	Drained func() error
}

// Run serves until ctx is done or a part fails, stops the parts in order, closes
// what was opened and returns the first failure joined with errors of closing. It
// may be called once.
func (l *Lifecycle) Run(ctx context.Context, p Parts) error {
	if !l.claim() {
		return fmt.Errorf("the %s was run or closed before; make a new one", l.name)
	}
	if err := call(p.Connect); err != nil {
		return errors.Join(err, l.close())
	}
	owner := start(p.Owner)
	servers, stopServers := l.serve()
	err := l.runTasks(ctx, p)
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

// runTasks returns when the daemon is to stop and its tasks have ended. The error
// is the first failure, nil when ctx ended the daemon.
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
	if err != nil {
		l.log.Error("the "+l.name+" ends", "error", err)
	}
	return err
}

// Close frees what was opened when Run was never called. It is safe twice, and
// does nothing after Run.
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
	gone   chan struct{}
}

func start(run func(context.Context)) process {
	ctx, cancel := context.WithCancel(context.Background())
	p := process{cancel, make(chan struct{})}
	go func() {
		defer close(p.gone)
		run(ctx)
	}()
	return p
}

// stop returns when the goroutine has ended.
func (p process) stop() {
	p.cancel()
	<-p.gone
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
