package nodemonitor

import (
	"context"
	"time"
)

// RunUntilDrained is Run, but the end of ctx first begins a drain: the node takes nothing
// new and waits for its running tasks, up to the setting stop_wait or until hurry is
// closed. Tasks that still run then are given back, run elsewhere, and nothing counts
// against them. A stop that is meant as a restart does not wait.
func (n *NodeMonitor) RunUntilDrained(ctx context.Context, hurry <-chan struct{}) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		defer stop()
		select {
		case <-ctx.Done():
			n.drainBeforeStop(hurry, ended)
		case <-ended:
		}
	}()
	return n.Run(serving)
}

// pollDrained is how often a node monitor that stops checks whether anything still runs.
const pollDrained = 10 * time.Millisecond

// drainBeforeStop returns when nothing is left at the node, or the wait is over.
func (n *NodeMonitor) drainBeforeStop(hurry, ended <-chan struct{}) {
	if n.endsForRestart() {
		return
	}
	left := -1
	if !n.call(func() {
		n.owner.stopping = true
		n.applyNothingNew()
		left = n.owner.workers.Attempts()
	}) || left == 0 {
		return
	}
	n.log.Info("the node monitor stops: it takes nothing new and waits for what runs; a second signal ends the wait", "attempts", left, "at most", n.cfg.StopWait)
	enough := time.NewTimer(n.cfg.StopWait)
	defer enough.Stop()
	tick := time.NewTicker(pollDrained)
	defer tick.Stop()
	for left > 0 {
		select {
		case <-tick.C:
			if !n.call(func() { left = n.owner.workers.Attempts() }) {
				return
			}
		case <-enough.C:
			return
		case <-hurry:
			return
		case <-ended:
			return
		}
	}
}
