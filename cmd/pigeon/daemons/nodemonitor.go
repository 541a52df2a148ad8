package daemons

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// stoppable is a node monitor that drains before it stops on SIGTERM or SIGINT.
type stoppable struct{ *nodemonitor.NodeMonitor }

// Run serves until ctx ends, and then until the node is drained, stop_wait is over, or a
// second signal comes. A third one ends the process at once.
func (s stoppable) Run(ctx context.Context) error {
	signals, hurry := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for range 2 { // the first ends ctx, too
			select {
			case <-signals:
			case <-ended:
				return
			}
		}
		signal.Stop(signals)
		close(hurry)
	}()
	return s.RunUntilDrained(ctx, hurry)
}
