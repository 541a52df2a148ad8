package slots

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// number makes the cores. numbers are those that the master has assigned to the workers of
// the last hello, in their order, plus one. A worker that has a core keeps its number.
func (l *workerList) number(numbers []int32) error {
	if err := l.checkNumbers(numbers); err != nil {
		return err
	}
	for i, w := range l.toNumber() {
		if w.core != nil || w.withdrawn {
			continue
		}
		l.enter(w.ref, numbers[i]-1)
		l.makeCore(w, numbers[i]-1)
	}
	return nil
}

// toNumber returns the workers that an answer to a hello numbers.
func (l *workerList) toNumber() []*worker {
	if l.described == nil {
		return l.all
	}
	return l.described
}

// enter enters the number of a worker. The master may assign a number again that this node
// last knew as that of a slot that has left.
func (l *workerList) enter(ref wire.Ref, id int32) {
	if former, taken := l.cfg.Names.Ref(sched.Addr{Role: sched.Worker, ID: id}); taken && former != ref {
		l.cfg.Names.Drop(former)
	}
	l.cfg.Names.Set(ref, id)
}

// checkNumbers returns what is wrong with numbers, nil for nothing.
func (l *workerList) checkNumbers(numbers []int32) error {
	what := ""
	listed := l.toNumber()
	if len(numbers) != len(listed) {
		what = fmt.Sprintf("the master numbered %d workers of %d", len(numbers), len(listed))
	}
	seen := make(map[int32]bool, len(numbers))
	for i, n := range numbers {
		if what != "" {
			break
		}
		w := listed[i]
		switch {
		case n < 1 || n > sched.MaxID || seen[n]:
			what = fmt.Sprintf("the master assigned worker %d the number %d, which cannot be", i, n-1)
		case w.core != nil && w.self.ID != n-1:
			what = fmt.Sprintf("the master assigned worker %d the number %d, and it has %d", i, n-1, w.self.ID)
		}
		seen[n] = true
	}
	if what == "" {
		return nil
	}
	return &api.Error{
		Problem: api.Invalid, What: what, Subject: fmt.Sprintf("node %q", l.cfg.Self.Ref.Name),
		Tried: "registering under policy " + l.cfg.Policy.Name, Next: "set the same policy in all daemons, and run the same version of pigeon on all hosts",
	}
}
