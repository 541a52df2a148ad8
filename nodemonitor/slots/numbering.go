package slots

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Epoch returns the highest epoch of a master of this group, and the incarnation of
// that master.
func (s *Workers) Epoch() (epoch uint64, of int64) { return s.epoch, s.epochOf }

// Registered applies the answer to a hello that was accepted; the error is that the
// two do not fit together. Under a new epoch no slot accepts what an earlier master
// still has on its way: each core gets its own kind again, from the new one.
func (s *Workers) Registered(epoch uint64, incarnation int64, numbers []int32) error {
	if s.cfg.Policy.SingleMaster() {
		if err := s.number(numbers); err != nil {
			return err
		}
	}
	if epoch <= s.epoch {
		return nil
	}
	s.epoch, s.epochOf = epoch, incarnation
	for _, w := range s.workers.live() {
		if s.cfg.Policy.Sequenced && w.core != nil {
			s.step(w, s.cfg.Master, &sched.Message{Kind: sched.SetReserved, Reserved: w.reserved(), Epoch: epoch})
		}
	}
	return nil
}

// number makes the cores by the numbers that the master has given the workers, plus
// one, in their order. A worker that has a core keeps its number.
func (s *Workers) number(numbers []int32) error {
	if err := s.checkNumbers(numbers); err != nil {
		return err
	}
	for i, w := range s.workers.all {
		if w.core != nil {
			continue
		}
		s.cfg.Names.Set(w.ref, numbers[i]-1)
		s.makeCore(w, numbers[i]-1)
	}
	return nil
}

// checkNumbers returns what is wrong with numbers, nil for nothing.
func (s *Workers) checkNumbers(numbers []int32) error {
	what := ""
	if len(numbers) != len(s.workers.all) {
		what = fmt.Sprintf("the master numbered %d workers of %d", len(numbers), len(s.workers.all))
	}
	seen := make(map[int32]bool, len(numbers))
	for i, n := range numbers {
		if what != "" {
			break
		}
		w := s.workers.all[i]
		at, taken := s.cfg.Names.Ref(sched.Addr{Role: sched.Worker, ID: n - 1})
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
		Problem: api.Invalid, What: what, Subject: fmt.Sprintf("node %q", s.cfg.Node.Name),
		Tried: "registering under policy " + s.cfg.Policy.Name, Next: "give all daemons the same policy, and run the same version of pigeon on all hosts",
	}
}
