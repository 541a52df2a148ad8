package nodemonitor

import (
	"context"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	// stopTimeout is how long a node monitor that stops waits for the ends of the attempts that it
	// has killed, and for its last messages to be accepted.
	stopTimeout = time.Second
	// handOverTimeout is how long it waits for its results to be accepted: a standby takes over a
	// frontend in that time.
	handOverTimeout = 3 * time.Second
)

// Run serves until ctx is done and returns when everything it started has ended, attempts
// included. The error is what ended it earlier, or did not end cleanly. It may be called
// once.
func (n *NodeMonitor) Run(ctx context.Context) error {
	n.removeHandover()
	tasks := []func(context.Context){n.register, n.repeat, n.backends.Disk().Run}
	if n.follower != nil {
		tasks = append(tasks, n.follow)
	}
	return n.life.Run(ctx, daemon.Parts{
		Owner: n.loop.Run, Tasks: tasks, Drain: func() {
			if n.endsForRestart() {
				n.leaveRunning()
			} else {
				n.stopWorkers()
			}
		},
		Started: func() {
			n.backends.StartGuard()
			a := n.Addrs()
			n.log.Info("node monitor serves", "backends", a.Listen, "daemons", a.Internal, "http", a.HTTP, "incarnation", n.self.Incarnation)
		},
		Drained: func() error {
			n.closeReports()
			err := n.link.Close()
			n.log.Info("node monitor stopped")
			return err
		},
	})
}

// Close frees what New opened when Run was never called. It is safe twice, and
// does nothing after Run.
func (n *NodeMonitor) Close() error { return n.life.Close() }

// register keeps this node registered. Frontends that bind tasks to workers take those of a former process for lost
// when they learn of the next one, so they accept the results that it has left before they do.
func (n *NodeMonitor) register(ctx context.Context) {
	left := 1
	for end := time.Now().Add(n.restart.results - n.restart.away); !n.owner.policy.Sequenced && left > 0 && time.Now().Before(end); {
		if !n.call(func() { left, _ = n.owner.results.Kept() }) || left > 0 && !delay.For(ctx, n.cfg.Heartbeat/4) {
			return
		}
	}
	n.registration.Run(ctx)
}

// follow follows the membership once the node is registered.
func (n *NodeMonitor) follow(ctx context.Context) {
	select {
	case <-n.registration.Ready():
		n.follower.Run(ctx)
	case <-ctx.Done():
	}
}

// repeat makes the owner goroutine resend, every heartbeat, the messages that were not answered.
func (n *NodeMonitor) repeat(ctx context.Context) {
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

// stopWorkers kills every attempt, hands over the results, and only then withdraws the slots
// from the master. Where results are not acknowledged in time, they are left to the next process,
// for which the master waits.
func (n *NodeMonitor) stopWorkers() {
	o := n.owner
	var last *wire.Snapshot
	n.call(func() {
		o.stopping = true // shown as the reason, and the master launches nothing here
		o.workers.Stop()
	})
	n.whileRegistered(n.killWorkers)
	if n.leaveResults() {
		return
	}
	// Only now is the node gone for others: a daemon that learned of it before it had the results
	// would count the attempts that ran here as lost.
	n.call(func() {
		o.workers.Leave()
		last = n.snapshot()
	})
	last.Stopping = true
	n.registration.Withdraw(last)
	n.call(func() {
		o.results.Mute()
		o.inventories.Mute()
		if kept, _ := o.results.Kept(); kept > 0 {
			n.log.Warn("results were not acknowledged; their tasks are tried again", "results", kept)
		}
	})
	n.drainMessages()
}

// drainMessages waits for the last messages of backends.
func (n *NodeMonitor) drainMessages() {
	messages, cancelMessages := context.WithTimeout(context.Background(), stopTimeout)
	defer cancelMessages()
	n.backends.DrainMessages(messages)
}

// killWorkers kills every attempt, and returns when their results are acknowledged or that takes too long.
func (n *NodeMonitor) killWorkers() {
	o := n.owner
	n.backends.KillAll() // the ends are in the inbox when it returns
	enough, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for left := true; left && enough.Err() == nil; { // an end may start a waiting attempt, which ends at once
		n.call(func() { left = o.workers.Attempts() > 0 })
	}
	var drained <-chan struct{}
	n.call(func() { drained = o.results.HandOver() })
	select {
	case <-drained:
	case <-time.After(handOverTimeout):
	}
}

// whileRegistered continues the heartbeats of this node, which has begun to stop, until do returns: programs may
// take the whole grace to end, and a master that received no heartbeat for that long would count the node, and
// what it has not given back by then, as lost.
func (n *NodeMonitor) whileRegistered(do func()) {
	ctx, stop := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	beats.Go(func() { n.repeat(ctx) })
	beats.Go(func() {
		for pause := n.cfg.Heartbeat / 4; delay.For(ctx, pause); pause = n.cfg.Heartbeat { // the last one is over already
			n.registration.Beat()
		}
	})
	do()
	stop()
	beats.Wait()
}
