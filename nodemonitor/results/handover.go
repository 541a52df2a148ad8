package results

import (
	"errors"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
)

// HandOver sends every kept result once more, before the node monitor ends, and again to
// frontends that answer that they cannot take it yet or do not answer: one that takes over from
// another, or is started again. The channel is closed when the last calls have been answered.
func (r *Reporter) HandOver() <-chan struct{} {
	drained := make(chan struct{})
	r.drained = drained
	for _, f := range r.frontends {
		r.handOver(f)
	}
	r.checkDrained()
	return drained
}

func (r *Reporter) handOver(f *frontend) {
	r.renew(f)
	f.notBefore = 0
	r.call(f)
}

// handOverPause is the most time before another call to a frontend that could not take the last
// results yet: it takes over, or is started again, while the node monitor waits.
const handOverPause = 500 * time.Millisecond

// handOverLater calls a frontend again that cannot take results yet, by its answer or because
// no process serves its address, if this is the hand-over. It publishes the results too: the
// process that leads the frontend by then may serve at another address, of which a node that
// ends does not hear any more.
func (r *Reporter) handOverLater(f *frontend, err error) {
	e, ok := errors.AsType[*api.Error](err)
	if r.drained == nil || f.waiting || !ok || e.Problem != api.NotReady && e.Problem != api.Busy {
		return
	}
	f.waiting = true
	time.AfterFunc(min(connections.PauseAfter(f.failures), handOverPause), func() {
		r.cfg.Post(func() {
			f.waiting = false
			if r.drained == nil {
				return
			}
			r.renew(f)
			for r.notices != nil && f.fresh.n > 0 && r.publish(f) {
			}
			r.handOver(f)
			r.checkDrained()
		})
	})
}

// checkDrained closes drained, if HandOver has made it, when no call is under way or to come.
func (r *Reporter) checkDrained() {
	if r.drained == nil {
		return
	}
	for _, f := range r.frontends {
		if f.calling || f.waiting {
			return
		}
	}
	close(r.drained)
	r.drained = nil
}
