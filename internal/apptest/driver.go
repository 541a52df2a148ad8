package apptest

import (
	"context"
	"encoding/json"
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
	app       api.Application
	listener  net.Listener
	ctx       context.Context
	stop      context.CancelFunc
	busy      sync.WaitGroup
	frontends []string
	pools     []*client.Pool // by frontend
	dirty     chan struct{}  // of size 1: wants have changed

	mu        sync.Mutex
	frontend  int // in use, of frontends
	sequence  int64
	executors int // wanted
	levels    []*level
	states    map[string]api.ExecutorState
	notes     []string
	conns     map[net.Conn]string // executor
	pids      map[string]int
	awaited   map[string]chan struct{} // by level
	failure   error                    // the last refusal
	declined  int
	waits     []time.Duration // of pieces of work for their grants
	last      int
}

// level is a set of equal pieces of work.
type level struct {
	api.Level
	work    time.Duration
	waiting int               // pieces
	running map[string]string // grant to executor
	ended   int
	since   time.Time // of the last wish for grants
}

// Spec says what a driver is like.
type Spec struct {
	ID        string
	Frontends []string
	Executors int
	Slots     int // of an executor
	Memory    int64
	Coarse    bool
	Argv      []string // of an executor; nil for the test binary itself
}

// Start begins an application; Close ends it.
func Start(s Spec) (*Driver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &Driver{
		listener: l, frontends: s.Frontends, dirty: make(chan struct{}, 1), executors: s.Executors,
		states: map[string]api.ExecutorState{}, conns: map[net.Conn]string{}, pids: map[string]int{}, awaited: map[string]chan struct{}{},
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
		ID: s.ID, Name: "test", Incarnation: time.Now().UnixNano(), Grants: !s.Coarse, Template: api.Template{
			Argv:   append(argv, Verb, l.Addr().String(), "{{NODE}}", "{{APP_ID}}", "{{EXECUTOR_ID}}", "{{TOKEN}}", slots),
			Memory: max(s.Memory, 1), Slots: s.Slots, Reach: l.Addr().String(), ReachSetting: "none",
		},
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.busy.Go(d.accept)
	d.busy.Go(d.speak)
	d.busy.Go(d.listen)
	return d, nil
}

// Close ends the application as kill -9 would, or, when told is set, with a word
// to its frontend.
func (d *Driver) Close(told bool) error {
	var err error
	if told {
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
	d.busy.Wait()
	for _, p := range d.pools {
		_ = p.Close() // it has no error
	}
	return err
}

// Add gives the application work: so many pieces of a level.
func (d *Driver) Add(name, class string, pieces int, work time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.levels = append(d.levels, &level{Level: api.Level{Name: name, Class: class}, work: work, waiting: pieces, running: map[string]string{}, since: time.Now()})
	d.changed()
}

// Drop takes back what waits of a level.
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

// Executors changes how many are wanted; those named are stopped.
func (d *Driver) Executors(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.executors = n
	d.changed()
}

// changed needs the lock.
func (d *Driver) changed() {
	select {
	case d.dirty <- struct{}{}:
	default: // it is to be told already
	}
}

// Await returns a channel that is closed with the next end of a piece of a level.
func (d *Driver) Await(name string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	d.awaited[name] = c
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

// Declined returns how many grants were handed back.
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

// Running returns the executors that run by the last news.
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

// Notes returns what the frontends had to say so far.
func (d *Driver) Notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.notes)
}

// call calls the frontend in use; when it does not answer, the next one is used
// from then on.
func (d *Driver) call(f func(context.Context, *wire.ApplicationClient) error) error {
	d.mu.Lock()
	at := d.frontend
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(d.ctx, 15*time.Second)
	defer cancel()
	err := f(ctx, wire.NewApplicationClient(d.pools[at]))
	if refusal, ok := errors.AsType[*api.Error](err); ok {
		d.mu.Lock()
		d.failure = err
		if refusal.Problem == api.NotReady && at == d.frontend {
			d.frontend = (at + 1) % len(d.frontends)
		}
		d.mu.Unlock()
	}
	return err
}

// register registers anew where the application is not known, or with the next
// frontend; should that fail, the next call does.
func (d *Driver) register(err error) {
	refusal, ok := errors.AsType[*api.Error](err)
	if ok && (refusal.Problem == api.NotFound || refusal.Problem == api.NotReady) {
		_ = d.call(func(ctx context.Context, f *wire.ApplicationClient) error {
			_, err := f.RegisterApplication(ctx, &d.app)
			return err
		})
	}
}

// pause waits a moment after a failure; false when the driver ends.
func (d *Driver) pause() bool {
	select {
	case <-time.After(50 * time.Millisecond):
		return true
	case <-d.ctx.Done():
		return false
	}
}

// speak tells the frontend what is wanted, as often as that changes.
func (d *Driver) speak() {
	d.register(&api.Error{Problem: api.NotFound})
	d.changed()
	for {
		select {
		case <-d.dirty:
		case <-d.ctx.Done():
			return
		}
		for {
			w := d.wants()
			err := d.call(func(ctx context.Context, f *wire.ApplicationClient) error {
				_, err := f.Want(ctx, w)
				return err
			})
			if err == nil {
				break
			}
			d.register(err)
			if !d.pause() {
				return
			}
		}
	}
}

func (d *Driver) wants() *api.Wants {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sequence++
	w := &api.Wants{Application: d.app.ID, Incarnation: d.app.Incarnation, Sequence: d.sequence, Executors: d.executors, LastExecutor: d.last}
	for _, l := range d.levels {
		if l.waiting > 0 || len(l.running) > 0 {
			l.Total = l.Had + int64(l.waiting)
			w.Levels = append(w.Levels, l.Level)
		}
	}
	return w
}

// listen keeps up with news.
func (d *Driver) listen() {
	version, frontend := int64(0), 0
	for d.ctx.Err() == nil {
		var n api.News
		err := d.call(func(ctx context.Context, f *wire.ApplicationClient) (err error) {
			n, err = f.News(ctx, d.app.ID, d.app.Incarnation, version, time.Second)
			return err
		})
		d.mu.Lock()
		version = n.Version
		if err != nil || d.frontend != frontend {
			version, frontend = 0, d.frontend
			d.changed() // say again what is wanted, to whoever serves now
		}
		for _, s := range n.Executors {
			d.states[s.ID] = s
			id := 0
			_, _ = fmt.Sscan(s.ID, &id) // all are numbers
			d.last = max(d.last, id)
		}
		d.notes = append(d.notes, n.Notes...)
		d.mu.Unlock()
		if err != nil && !d.pause() {
			return
		}
	}
}

// accept takes executors in.
func (d *Driver) accept() {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		d.conns[c] = ""
		d.mu.Unlock()
		d.busy.Go(func() { d.attend(c) })
	}
}

// attend binds the grants of one executor until it is gone; what ran there waits
// again.
func (d *Driver) attend(c net.Conn) {
	defer func() { _ = c.Close() }() // it is gone
	from, to := json.NewDecoder(c), json.NewEncoder(c)
	id := ""
	for {
		var l line
		if from.Decode(&l) != nil {
			break
		}
		if l.Executor != "" {
			id = l.Executor
			d.mu.Lock()
			d.conns[c], d.pids[id] = id, l.Pid
			d.mu.Unlock()
			continue
		}
		if answer, ok := d.bind(id, l); ok && to.Encode(answer) != nil {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, c)
	for _, l := range d.levels {
		for grant, executor := range l.running {
			if executor == id {
				delete(l.running, grant)
				l.waiting++
			}
		}
	}
	d.changed()
}

// bind returns what to do with a grant, or takes note of the end of a piece of work.
func (d *Driver) bind(executor string, l line) (answer line, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer = line{Grant: l.Grant, Level: l.Level, Run: -1}
	at := slices.IndexFunc(d.levels, func(v *level) bool { return v.Name == l.Level })
	if at < 0 {
		d.declined++
		return answer, true
	}
	v := d.levels[at]
	defer d.changed()
	if l.Ended {
		if v.running[l.Grant] == executor {
			delete(v.running, l.Grant)
			v.ended++
			if c := d.awaited[v.Name]; c != nil {
				close(c)
				delete(d.awaited, v.Name)
			}
		}
		return line{}, false
	}
	v.Had++
	if v.waiting == 0 {
		d.declined++
		return answer, true
	}
	v.waiting--
	d.waits = append(d.waits, time.Since(v.since))
	v.running[l.Grant] = executor
	answer.Run = v.work
	return answer, true
}
