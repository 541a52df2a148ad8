package apptest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Driver is the application's own process. Start it with [Start].
type Driver struct {
	app          api.Application
	listener     net.Listener
	ctx          context.Context
	stop         context.CancelFunc
	goroutines   sync.WaitGroup
	frontends    []string
	pools        []*client.Pool // by frontend
	wantsChanged chan struct{}  // of size 1: the wants have changed

	mu         sync.Mutex
	frontend   int // in use, of frontends
	sequence   int64
	executors  int // wanted
	levels     []*level
	states     map[string]api.ExecutorState
	notes      []string
	conns      map[net.Conn]string // executor
	pids       map[string]int
	endWaiters map[string]chan struct{} // by level
	failure    error                    // the last refusal
	declined   int
	waits      []time.Duration // of pieces of work for their grants
	last       int
}

// level is a set of equal pieces of work.
type level struct {
	api.Level
	work    time.Duration
	waiting int               // pieces
	running map[string]string // grant to executor
	ended   int
	since   time.Time // when the level was added
}

// Spec describes a driver.
type Spec struct {
	ID        string
	Frontends []string
	Executors int
	Slots     int // of an executor
	Memory    int64
	Coarse    bool
	User      string
	Owner     string
	Argv      []string // of an executor; nil for the test binary itself
}

// Start begins an application; Close ends it.
func Start(s Spec) (*Driver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &Driver{
		listener: l, frontends: s.Frontends, wantsChanged: make(chan struct{}, 1), executors: s.Executors,
		states: map[string]api.ExecutorState{}, conns: map[net.Conn]string{}, pids: map[string]int{}, endWaiters: map[string]chan struct{}{},
	}
	for _, address := range s.Frontends {
		pool, err := client.New(client.Options{Name: "frontend", Address: address, FailFast: true, MaxConns: 4})
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		d.pools = append(d.pools, pool)
	}
	slots := fmt.Sprint(s.Slots)
	if s.Coarse {
		slots = "0"
	}
	argv := s.Argv
	if argv == nil {
		argv = []string{"/proc/self/exe"}
	}
	d.app = api.Application{
		ID: s.ID, Name: "test", Incarnation: time.Now().UnixNano(), Grants: !s.Coarse, User: s.User, Owner: s.Owner, Template: api.Template{
			Argv:   append(argv, Verb, l.Addr().String(), "{{NODE}}", "{{APP_ID}}", "{{EXECUTOR_ID}}", "{{TOKEN}}", slots),
			Memory: max(s.Memory, 1), Slots: s.Slots, Reach: l.Addr().String(), ReachSetting: "none",
		},
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.goroutines.Go(d.accept)
	d.goroutines.Go(d.sendWants)
	d.goroutines.Go(d.pollNews)
	return d, nil
}

// Close ends the application as kill -9 would, or, when graceful is set, after
// informing its frontend.
func (d *Driver) Close(graceful bool) error {
	var err error
	if graceful {
		err = d.call(func(ctx context.Context, f *wire.ApplicationClient) error {
			return f.EndApplication(ctx, d.app.ID, d.app.Incarnation)
		})
	}
	d.stop()
	_ = d.listener.Close() // accept ends
	d.mu.Lock()
	for c := range d.conns {
		_ = c.Close() // its reader ends
	}
	d.mu.Unlock()
	d.goroutines.Wait()
	for _, p := range d.pools {
		_ = p.Close() // it has no error
	}
	return err
}

// Add adds a level with the given number of pieces of work.
func (d *Driver) Add(name, class string, pieces int, work time.Duration) {
	d.AddLevel(api.Level{Name: name, Class: class}, pieces, work)
}

// AddLevel adds a level with the given number of pieces of work.
func (d *Driver) AddLevel(l api.Level, pieces int, work time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.levels = append(d.levels, &level{Level: l, work: work, waiting: pieces, running: map[string]string{}, since: time.Now()})
	d.changed()
}

// Drop removes the waiting pieces of a level.
func (d *Driver) Drop(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.levels {
		if l.Name == name {
			l.waiting = 0
		}
	}
	d.changed()
}

// Executors changes how many executors are wanted.
func (d *Driver) Executors(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.executors = n
	d.changed()
}

// changed needs the lock.
func (d *Driver) changed() {
	select {
	case d.wantsChanged <- struct{}{}:
	default: // sendWants is already due
	}
}

// Await returns a channel that is closed with the next end of a piece of a level.
func (d *Driver) Await(name string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	d.endWaiters[name] = c
	return c
}

// Ended returns how many pieces of a level have ended.
func (d *Driver) Ended(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.levels {
		if l.Name == name {
			return l.ended
		}
	}
	return 0
}

// Waits returns how long pieces of work have waited for their grants since their
// level was added.
func (d *Driver) Waits() []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.waits)
}

// Declined returns how many grants were declined.
func (d *Driver) Declined() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.declined
}

// States returns the last known state of each executor, by number.
func (d *Driver) States() []api.ExecutorState {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []api.ExecutorState
	for _, s := range d.states {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b api.ExecutorState) int {
		var x, y int
		_, _ = fmt.Sscan(a.ID, &x) // all are numbers
		_, _ = fmt.Sscan(b.ID, &y)
		return x - y
	})
	return list
}

// Running returns the executors that are running according to the last news.
func (d *Driver) Running() (ids []string) {
	for _, s := range d.States() {
		if s.State == api.ExecutorRunning {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Pids returns the processes of the executors that are connected.
func (d *Driver) Pids() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := map[string]int{}
	for _, id := range d.conns {
		if id != "" {
			m[id] = d.pids[id]
		}
	}
	return m
}

// Failure returns the last refusal of a frontend.
func (d *Driver) Failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// Notes returns the notes of the frontends so far.
func (d *Driver) Notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.notes)
}
