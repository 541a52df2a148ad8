package slots

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Epoch returns the highest epoch of a master of this group, and the incarnation of
// that master.
func (s *Workers) Epoch() (epoch uint64, of int64) { return s.epoch, s.epochOf }

// Registered applies the answer to a hello that was accepted. It returns an error when the
// answer does not fit the node. Under a new epoch no slot accepts a launch that an earlier
// master has sent: each core receives its own kind once more, under the new epoch.
func (s *Workers) Registered(epoch uint64, incarnation int64, numbers []int32) error {
	var bare []*worker
	if s.cfg.Policy.SingleMaster() {
		bare = slices.DeleteFunc(slices.Clone(s.workers.live()), func(w *worker) bool { return w.core != nil })
		if err := s.workers.number(numbers); err != nil {
			return err
		}
		for _, w := range bare {
			s.restore(w)
		}
	}
	s.enterEpoch(epoch, incarnation)
	for _, w := range bare {
		s.stepEarly(w)
	}
	return nil
}

// enterEpoch enters the epoch of a master, if it is a new one.
func (s *Workers) enterEpoch(epoch uint64, incarnation int64) {
	if epoch <= s.epoch {
		return
	}
	s.epoch, s.epochOf = epoch, incarnation
	for _, w := range s.workers.live() {
		if s.cfg.Policy.Sequenced && w.core != nil {
			s.cores.step(w, s.cfg.Master, &sched.Message{Kind: sched.SetReserved, Reserved: w.reserved(), Epoch: epoch})
		}
	}
}
