package slots

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// workerList is the workers of a node.
type workerList struct {
	cfg    *Config
	ended  func(*worker, *backend.Result) // steps the end of an attempt
	all    []*worker                      // by number on this node; nil where a backend's slot was removed
	gaps   bool                           // some are nil
	bySelf map[sched.Addr]*worker
	// described is those that the last hello listed, which its answer numbers; nil before
	// the first.
	described []*worker
}

// live returns the workers that were not removed, in the order of their numbers.
func (l *workerList) live() []*worker {
	if !l.gaps {
		return l.all
	}
	return slices.DeleteFunc(slices.Clone(l.all), func(w *worker) bool { return w == nil })
}

// at returns the worker with that number on this node, nil when none can receive messages.
func (l *workerList) at(number int32) *worker {
	if number < 0 || int(number) >= len(l.all) {
		return nil
	}
	w := l.all[number]
	if w == nil || w.leaving || w.withdrawn || w.core == nil {
		return nil
	}
	return w
}

// there returns the worker with that number on this node, also one that a drain has
// withdrawn; nil when there is none.
func (l *workerList) there(number int32) *worker {
	if number < 0 || int(number) >= len(l.all) || l.all[number] == nil || l.all[number].leaving {
		return nil
	}
	return l.all[number]
}

// add makes the next worker.
func (l *workerList) add() *worker {
	number := int32(len(l.all)) //nolint:gosec // bounded by what registers
	w := &worker{number: number, ref: wire.Ref{Role: sched.Worker, Name: l.cfg.Self.Ref.Name, Slot: number}, slots: l.cfg.Policy.SlotsPerWorker(), firstSeq: l.cfg.FirstSeq}
	w.done = func(r backend.Result) { l.cfg.Post(func() { l.ended(w, &r) }) }
	l.all = append(l.all, w)
	l.cfg.Metrics.count(w, 1)
	if !l.cfg.Policy.SingleMaster() {
		l.makeCore(w, number)
	}
	return w
}

// makeCore makes the worker's core, which is addressed by that number.
func (l *workerList) makeCore(w *worker, number int32) {
	w.self = sched.Addr{Role: sched.Worker, ID: number}
	w.core = l.cfg.Policy.NewWorker(sched.WorkerConfig{Self: w.self, Seed: l.cfg.Seed, Params: l.cfg.Params, Master: l.cfg.Master, Seq: w.firstSeq})
	l.bySelf[w.self] = w
}

// removeIfEmpty removes a worker that is leaving and has no attempt left; its number is
// not used again.
func (l *workerList) removeIfEmpty(w *worker) {
	if !w.leaving || len(w.attempts.list) > 0 {
		return
	}
	if !w.withdrawn {
		l.cfg.Metrics.count(w, -1)
	}
	delete(l.bySelf, w.self)
	l.all[w.number], l.gaps = nil, true
}
