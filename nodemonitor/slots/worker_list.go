package slots

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// workerList is the workers of a node.
type workerList struct {
	all    []*worker // by number on this node; nil where a backend's is gone
	gaps   bool      // some are nil
	bySelf map[sched.Addr]*worker
}

// live returns the workers there are, in the order of their numbers.
func (l *workerList) live() []*worker {
	if !l.gaps {
		return l.all
	}
	return slices.DeleteFunc(slices.Clone(l.all), func(w *worker) bool { return w == nil })
}

// at returns the worker of that number on this node, nil when there is none now.
func (l *workerList) at(number int32) *worker {
	if number < 0 || int(number) >= len(l.all) {
		return nil
	}
	w := l.all[number]
	if w == nil || w.leaving || w.core == nil {
		return nil
	}
	return w
}

// remove removes a worker; its number is not used again.
func (l *workerList) remove(w *worker) {
	delete(l.bySelf, w.self)
	l.all[w.number], l.gaps = nil, true
}
