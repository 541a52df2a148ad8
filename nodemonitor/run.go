package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/registration"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// farewell is how long a node monitor that stops waits for its last reports and
// messages to be taken.
const farewell = time.Second

// errRan is the answer to a second Run.
var errRan = errors.New("the node monitor was run or closed before; make a new one")

// Run serves until ctx is done and returns when everything it started is gone,
// what ran here included. The error is what ended it before, or did not end
// cleanly. It may be called once.
func (n *NodeMonitor) Run(ctx context.Context) error {
	if !n.claim() {
		return errRan
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	n.stopWith(stop)
	loop, stopLoop := context.WithCancel(context.Background())
	var owner sync.WaitGroup
	owner.Go(func() { n.loop.Run(loop) })

	serving, stopServing := context.WithCancel(context.Background())
	var servers sync.WaitGroup
	var failed [2]error
	for i, s := range []*server.Server{n.internal, n.published} {
		servers.Go(func() {
			defer stop() // a daemon that cannot be reached must not look alive
			failed[i] = s.Run(serving)
		})
	}
	var rounds sync.WaitGroup
	rounds.Go(func() { n.registration.Run(ctx) })
	rounds.Go(func() { n.pulse(ctx) })
	if n.follower != nil {
		rounds.Go(func() { n.follow(ctx) })
	}
	n.log.Info("node monitor serves", "backends", n.Addrs().Listen, "daemons", n.Addrs().Internal, "http", n.Addrs().HTTP, "incarnation", n.incarnation)

	<-ctx.Done()
	rounds.Wait()
	n.stopTasks()
	stopServing()
	servers.Wait()
	n.endCalls()
	n.callers.Wait()
	err := n.link.Close()
	stopLoop()
	owner.Wait()
	n.log.Info("node monitor stopped")
	return errors.Join(n.failure(), failed[0], failed[1], err, n.release())
}

// fail ends the daemon, for a reason that Run returns.
func (n *NodeMonitor) fail(why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended == nil {
		n.log.Error("the node monitor ends", "error", why)
		n.ended = why
		n.stop()
	}
}

func (n *NodeMonitor) failure() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended
}

// stopWith notes how a daemon that runs is ended from inside.
func (n *NodeMonitor) stopWith(stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop = stop
}

// Close frees what New opened when Run was never called. It is safe twice, and
// does nothing after Run.
func (n *NodeMonitor) Close() error {
	if !n.claim() {
		return nil
	}
	return errors.Join(n.internal.Close(), n.published.Close(), n.release())
}

// claim reports whether this is the first of Run and Close.
func (n *NodeMonitor) claim() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := !n.ran
	n.ran = true
	return first
}

// follow follows the membership once the node is registered.
func (n *NodeMonitor) follow(ctx context.Context) {
	select {
	case <-n.registration.Ready():
		n.follower.Run(ctx)
	case <-ctx.Done():
	}
}

// pulse has the owner send again, every heartbeat, what was not acknowledged.
func (n *NodeMonitor) pulse(ctx context.Context) {
	tick := time.NewTicker(n.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			n.do(n.owner.repeat)
		case <-ctx.Done():
			return
		}
	}
}

// stopTasks tells the master that the slots are gone, kills what runs, and hands
// over the results. What is not taken in time is lost with this process; its
// tasks are tried again.
func (n *NodeMonitor) stopTasks() {
	o := n.owner
	var last *wire.Snapshot
	var drained <-chan struct{}
	n.ask(func() {
		o.workers.Stop()
		last = o.snapshot()
	})
	n.registration.Withdraw(last)
	n.equipment.stopTasks() // their ends are in the inbox when it returns
	enough, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	for left := true; left && enough.Err() == nil; { // what waited is started by each end, and ends at once
		n.ask(func() { left = o.workers.Attempts() > 0 })
	}
	n.ask(func() { drained = o.results.HandOver() })
	select {
	case <-drained:
	case <-enough.Done():
	}
	n.ask(func() {
		o.results.Mute()
		if kept, _ := o.results.Kept(); kept > 0 {
			n.log.Warn("results were not acknowledged; their tasks are tried again", "results", kept)
		}
	})
	n.messages.relay.Drain(enough)
}

// release closes what New opened, at any stage.
func (n *NodeMonitor) release() (err error) {
	n.endCalls()
	if n.internal != nil {
		err = n.internal.Close()
	}
	if n.published != nil {
		err = errors.Join(err, n.published.Close())
	}
	if n.status != nil {
		n.status.Stop()
	}
	if n.link != nil {
		err = errors.Join(err, n.link.Close())
	}
	if n.owner != nil && n.owner.links != nil {
		err = errors.Join(err, n.owner.links.Close())
	}
	if n.notices != nil {
		n.notices.close()
	}
	if n.master != nil {
		err = errors.Join(err, n.master.Close())
	}
	if n.callers != nil {
		n.callers.Wait()
		n.frontendPools.Close()
	}
	if n.messages != nil {
		n.messages.close()
	}
	if n.equipment != nil {
		err = errors.Join(err, n.equipment.close())
	}
	if n.recording != nil {
		err = errors.Join(err, n.recording())
	}
	return err
}

// record opens the recording, when one is wanted.
func (n *NodeMonitor) record() (r *runloop.Recorder, err error) {
	if n.cfg.Record != "" {
		r, n.recording, err = runloop.RecordTo(n.cfg.Record, "node-"+n.cfg.ID)
	}
	return r, err
}

// registrationSource is the node as its owner goroutine has it.
type registrationSource struct{ n *NodeMonitor }

var _ registration.Source = registrationSource{}

func (d registrationSource) Hello(fresh bool) (h *wire.Hello, ok bool) {
	o := d.n.owner
	ok = d.n.ask(func() {
		if fresh {
			o.workers.ForgetMaster()
			d.n.link.Reset(0)
		}
		h = o.hello(d.n.cfg)
	})
	return h, ok
}

func (d registrationSource) Accepted(r *wire.HelloReply) (err error, ok bool) {
	ok = d.n.ask(func() { err = d.n.owner.workers.Registered(r.Epoch, r.Incarnation, r.Numbers) })
	return err, ok
}

func (d registrationSource) Snapshot() (s *wire.Snapshot, ok bool) {
	ok = d.n.ask(func() { s = d.n.owner.snapshot() })
	return s, ok
}

// backendEvents passes the registry's events to the owner.
type backendEvents struct{ n *NodeMonitor }

var _ app.Events = backendEvents{}

func (e backendEvents) SlotAdded(s app.Slot) { e.n.do(func() { e.n.owner.workers.AddClassic(s) }) }

func (e backendEvents) SlotGone(s app.Slot, reason string) {
	e.n.do(func() { e.n.owner.workers.RemoveClassic(s, reason) })
}

func (e backendEvents) ServesChanged([]string) { e.n.servingChanged() }

// readiness returns why the node is of no use at the moment, nil when it is.
func (n *NodeMonitor) readiness() error {
	if s := n.registration.Status(); s.Problem != "" {
		return fmt.Errorf("node %q: %s", n.cfg.ID, s.Problem)
	}
	return nil
}
