package nodemonitor

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// registered takes the answer to a hello that was accepted; the error says that the
// two do not fit together. Under a new epoch no slot takes what an earlier master
// still has on its way: each core is told its own kind again, by the new one.
func (o *owner) registered(r *wire.HelloReply) error {
	if o.rules.numbered {
		if err := o.number(r.Numbers); err != nil {
			return err
		}
	}
	if r.Epoch <= o.epoch {
		return nil
	}
	o.epoch, o.epochOf = r.Epoch, r.Incarnation
	for _, w := range o.live() {
		if o.rules.sequenced && w.core != nil {
			o.step(w, o.master, &sched.Message{Kind: sched.SetReserved, Reserved: w.reserved(), Epoch: r.Epoch})
		}
	}
	return nil
}

// number makes the cores by the numbers that the master has given the workers, plus
// one, in their order. A worker that has a core keeps its number.
func (o *owner) number(numbers []int32) error {
	if err := o.unfit(numbers); err != nil {
		return err
	}
	for i, w := range o.workers {
		if w.core != nil {
			continue
		}
		o.addrs.Set(w.ref, numbers[i]-1)
		o.engage(w, numbers[i]-1)
	}
	return nil
}

// unfit returns what is wrong with numbers, nil for nothing.
func (o *owner) unfit(numbers []int32) error {
	what := ""
	if len(numbers) != len(o.workers) {
		what = fmt.Sprintf("the master numbered %d workers of %d", len(numbers), len(o.workers))
	}
	seen := make(map[int32]bool, len(numbers))
	for i, n := range numbers {
		if what != "" {
			break
		}
		w := o.workers[i]
		at, taken := o.addrs.Ref(sched.Addr{Role: sched.Worker, ID: n - 1})
		switch {
		case n < 1 || n > sched.MaxID || seen[n]:
			what = fmt.Sprintf("the master gave worker %d the number %d, which cannot be", i, n-1)
		case w.core != nil && w.self.ID != n-1:
			what = fmt.Sprintf("the master gave worker %d the number %d, and it has %d", i, n-1, w.self.ID)
		case taken && at != w.ref:
			what = fmt.Sprintf("the master gave worker %d the number %d, which was that of %v", i, n-1, at)
		}
		seen[n] = true
	}
	if what == "" {
		return nil
	}
	return &api.Error{
		Problem: api.Invalid, What: what, Subject: fmt.Sprintf("node %q", o.self.Name),
		Tried: "registering under policy " + o.rules.name, Next: "give all daemons the same policy, and run the same version of pigeon on all hosts",
	}
}
