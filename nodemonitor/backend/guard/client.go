package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// Options are the settings of a [Client]. The zero value is ready.
type Options struct {
	// Command starts a process that calls [Main]; empty for this program with
	// [Verb], which must have called [Register].
	Command []string
	// MaxRunning bounds the processes at once; 0 for 4096.
	MaxRunning int
	// Started, when set, is called with the pid of every new guard. Tests use it.
	Started func(pid int)

	// Grace is how long a guard outlives its client; 0: not at all. Folder is where it
	// waits for the next one meanwhile, a folder of this user, and Owner names the node monitor
	// whose processes it runs.
	Grace  time.Duration
	Folder string
	Owner  string
	Log    *slog.Logger // nil for none

	// Cgroup is the cgroup for processes with limits, a setting of package cgroup; "" makes the
	// package find it.
	Cgroup string
}

// Refusals of Start.
var (
	ErrClosed = errors.New("the guard's client is closed")
	ErrFull   = errors.New("too many processes at once")
)

// Client is a node monitor's end. One may serve several node monitors of one
// process.
//
// Two goroutines belong to it: send, which also starts guards, from New to
// Close; and one receive per guard. Callbacks come from either, one at a time
// for each process.
type Client struct {
	opts      Options
	startedAs string // added to the environment of guards
	refused   error  // why no guard can be started, nil when one can
	token     string // makes marks of different clients differ
	gone      chan struct{}
	enforces  LimitState
	patience  time.Duration // for the answer of a guard that is to be adopted

	mu      sync.Mutex
	ready   *sync.Cond // queue, closed or idle changed
	queue   []request
	running map[Handle]*attempt
	over    int // of those that run: their last events are being delivered
	last    Handle
	closed  bool // no Start any more
	ended   bool // send may end
	left    bool // ended, and running processes are left to the guard
	kept    []byte
	adopted *instance // of an earlier client, until send has it
	serving *instance // the guard in use, nil before the first one

	health health
	strays atomic.Uint64
	lately [latelyKept]lately // guarded by mu
}

// latelyKept is of how many ended attempts a client knows the subject, for what they have left running.
const latelyKept = 256

type lately struct {
	handle  Handle
	subject string
}

// attempt is one process until its last event.
type attempt struct {
	on      func(Event)
	subject string
	strays  int
	guard   *instance // nil until its request is about to be written
	over    bool      // its last event is being delivered
}

// family begins the marks of all processes that are run for an owner in a folder, by whichever of its guards; ""
// without a folder, which several clients may lack at a time.
func (o *Options) family() string {
	if o.Folder == "" {
		return ""
	}
	folder, err := filepath.Abs(o.Folder)
	if err != nil {
		folder = o.Folder
	}
	hash := sha256.Sum256([]byte(o.Owner + "\x00" + folder))
	return hex.EncodeToString(hash[:8]) + "-"
}

// New returns a client. The guard itself starts with the first process, or by StartGuard.
func New(o Options) *Client {
	if o.MaxRunning == 0 {
		o.MaxRunning = 4096
	}
	c := &Client{opts: o, token: o.family() + ulid.Make().String()}
	if len(o.Command) == 0 {
		c.opts.Command, c.startedAs, c.refused = childproc.OwnProgram(Verb, "guard.Register()")
	}
	c.enforces = openTree(o.Cgroup)
	return begin(c)
}

func begin(c *Client) *Client {
	c.gone, c.running, c.patience = make(chan struct{}), map[Handle]*attempt{}, patience
	c.ready = sync.NewCond(&c.mu)
	go c.send()
	return c
}

// StartGuard requests the start of the guard, unless there is one, so that the first process need not
// wait for it. When it cannot be started, the first process reports why.
func (c *Client) StartGuard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.refused == nil {
		c.enqueue(request{Op: opGuard})
	}
}

// Start requests the start of the process and returns at once; on receives its events, the
// last is Ended, Refused or Lost. After an error on is never called.
func (c *Client) Start(spec Spec, on func(Event)) (Handle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, ErrClosed
	}
	if c.refused != nil {
		return 0, c.refused
	}
	if len(c.running)-c.over >= c.opts.MaxRunning { // a last event may have another process started
		return 0, fmt.Errorf("%w: the limit is %d", ErrFull, c.opts.MaxRunning)
	}
	c.last++
	c.running[c.last] = &attempt{on: on, subject: spec.Subject}
	c.enqueue(request{Op: opStart, Handle: c.last, Spec: &spec, Mark: c.mark(c.last)})
	return c.last, nil
}

// Kill ends the process group: SIGTERM, then SIGKILL after the grace.
func (c *Client) Kill(h Handle, grace time.Duration) {
	c.request(request{Op: opKill, Handle: h, Grace: grace})
}

// Suspend stops the process group. It reports whether the process, as far as is known here,
// still runs.
func (c *Client) Suspend(h Handle) bool { return c.request(request{Op: opSuspend, Handle: h}) }

// Resume continues the process group.
func (c *Client) Resume(h Handle) bool { return c.request(request{Op: opResume, Handle: h}) }

func (c *Client) request(r request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.running[r.Handle]; a == nil || a.over {
		return false
	}
	c.enqueue(r)
	return true
}

// enqueue needs the lock.
func (c *Client) enqueue(r request) {
	c.queue = append(c.queue, r)
	c.ready.Broadcast()
}

func (c *Client) mark(h Handle) string { return fmt.Sprintf("%s.%d", c.token, h) }

// Close kills every process, with the grace, and returns when all have ended,
// their last events have been delivered, and the guard is gone. What has not ended
// two seconds after the grace is left to the guard's own end.
func (c *Client) Close(grace time.Duration) {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		for h := range c.running {
			c.enqueue(request{Op: opKill, Handle: h, Grace: grace})
		}
		overdue := time.AfterFunc(grace+2*time.Second, c.finish)
		defer overdue.Stop()
	}
	for len(c.running) > 0 && !c.ended {
		c.ready.Wait()
	}
	c.mu.Unlock()
	c.finish()
	<-c.gone
}

func (c *Client) finish() {
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	c.ready.Broadcast()
}

// end has send end, also when the guard does not read. It needs the lock.
func (c *Client) end() {
	if c.ended = true; c.serving != nil {
		_ = c.serving.conn.SetWriteDeadline(time.Now().Add(patience)) // it fails on a closed socket, to which nothing is written
	}
}

// next returns the requests to write, none when the client has ended.
func (c *Client) next(last []request) []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && !c.ended {
		c.ready.Wait()
	}
	if c.ended && (!c.left || len(c.queue) == 0) {
		return nil
	}
	batch := c.queue
	clear(last)
	c.queue = last[:0]
	return batch
}

// send writes requests to the guard, and starts one when there is none.
func (c *Client) send() {
	defer close(c.gone)
	var g *instance
	for batch := c.next(nil); batch != nil; batch = c.next(batch) {
		g = c.current(g)
		for i := range batch {
			g = c.write(g, &batch[i])
		}
		if g != nil {
			g.flush()
		}
	}
	if g = c.current(g); c.left {
		if g != nil {
			g.leave()
		}
		return
	}
	if g != nil {
		g.close()
	}
	c.abandon(nil, &Fault{What: "the node monitor is stopping", Next: "nothing; the attempt is tried on another node"})
}

// write sends one request and returns the guard in use from then on.
func (c *Client) write(g *instance, r *request) *instance {
	if r.Op == opStart {
		var f *Fault
		if g, f = c.guardFor(r.Handle, g); f != nil {
			c.deliver(Event{Kind: Lost, Handle: r.Handle, Fault: f})
			return g
		}
	}
	if r.Op == opGuard {
		if g == nil || c.isDead(g) {
			g, _ = c.startAnother() // the next process tries again, too, and reports the reason
		}
		return g
	}
	if g == nil {
		return g
	}
	g.write(r)
	return g
}

// greeting returns the first message to a guard, without what only a new one needs.
func (c *Client) greeting() greeting {
	return greeting{Version: version, Owner: c.opts.Owner, Cgroup: c.enforces.Cgroup}
}

// guardFor ties a new process to the guard, or to a new one when that is gone.
func (c *Client) guardFor(h Handle, g *instance) (*instance, *Fault) {
	if g != nil && c.assign(h, g) {
		return g, nil
	}
	if g != nil {
		g.close()
	}
	g, err := c.startAnother()
	if err != nil {
		return nil, FaultOf("the guard process could not be started", err)
	}
	if !c.assign(h, g) {
		return g, &Fault{
			What: "the guard process ended as soon as it was started",
			Next: "see what it wrote to the node monitor's stderr",
		}
	}
	return g, nil
}

// isDead reports whether a guard is known to be gone.
func (c *Client) isDead(g *instance) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return g.dead
}

// assign ties a process to a guard, unless the guard is known to be gone.
func (c *Client) assign(h Handle, g *instance) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.dead {
		return false
	}
	if a := c.running[h]; a != nil {
		a.guard = g
	}
	return true
}

// deliver calls the callback of a process, and forgets the process with its last event.
func (c *Client) deliver(e Event) {
	c.mu.Lock()
	a := c.running[e.Handle]
	if a == nil || a.over {
		c.mu.Unlock()
		return
	}
	if a.over = e.Kind.last(); a.over {
		c.over++
		e.Strays = a.strays
	}
	c.mu.Unlock()
	a.on(e)
	if !e.Kind.last() {
		return
	}
	c.mu.Lock()
	delete(c.running, e.Handle)
	c.lately[e.Handle%latelyKept] = lately{e.Handle, a.subject}
	c.over--
	if c.opts.Grace > 0 && (e.Kind != Lost || e.Never) { // else the guard that kept it is gone
		c.enqueue(request{Op: opForget, Handle: e.Handle})
	}
	c.mu.Unlock()
	c.ready.Broadcast()
}

// abandon ends as Lost what the guard was to run; nil stands for every guard.
func (c *Client) abandon(g *instance, f *Fault) {
	c.mu.Lock()
	var lost []Handle
	for h, a := range c.running {
		if g == nil || a.guard == g {
			lost = append(lost, h)
		}
	}
	c.mu.Unlock()
	if g != nil && g.killed {
		f.Together = len(lost)
	}
	for _, h := range lost {
		c.deliver(Event{Kind: Lost, Handle: h, Fault: f})
	}
}
