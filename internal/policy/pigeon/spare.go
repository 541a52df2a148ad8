package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// tellTo is how many other masters hear of a spare worker.
	tellTo = 2
	// tellAgain is after how many cutoffs a flag is set anew that should be set still:
	// what was told may have been lost with a task that nobody wanted any more.
	tellAgain = 10
)

// told is what a master knows of the flag that another one keeps for its group. A
// flag stays until a task takes it, and that task comes here; so a notice that would
// set it to what it is need not be sent.
type told struct {
	heard   bool           // of a spare worker there: that master knows this group
	service *queue.Service // of the worker that was told of; nil for none
	general bool           // it takes both classes
	until   sched.Time     // the flag is taken to be set
}

// tellSpare tells two random other masters of a worker that turned idle: the
// queues hold nothing for it. For a general worker both are empty then; a reserved
// one counts although long tasks wait, since it may not take them (without these
// notices short jobs of the ngo trace take 3 % longer). A slot of one application's
// own is not offered.
func (s *Master) tellSpare(w *worker, out *sched.Actions) {
	x := s.sorted
	n := len(x.others)
	if n == 0 || w.fixed {
		return
	}
	first := x.draws.IntN(n)
	s.offer(w, x.others[first], out)
	if n >= tellTo {
		second := x.draws.IntN(n - 1)
		if second >= first {
			second++
		}
		s.offer(w, x.others[second], out)
	}
}

// offer tells another master of an idle worker, unless that would be no news.
func (s *Master) offer(w *worker, to int32, out *sched.Actions) {
	x := s.sorted
	t := &x.peers[to].told
	if t.heard && t.service == w.service && (t.general || w.reserved) && x.now < t.until {
		return
	}
	t.service, t.general, t.until = w.service, !w.reserved, x.now+tellAgain*s.cfg.Params.Cutoff
	m := out.Send(sched.Addr{Role: sched.Master, ID: to}, sched.Spare)
	m.Serves, m.Reserved = w.service.Names, w.reserved
}

// flagTaken takes in that a task came from another group, by the flag for this one.
func (s *Master) flagTaken(from sched.Addr) {
	if p := s.peer(from); p != nil {
		p.told.service = nil
	}
}

// offerAgain sets the flag anew that a task from that group took, if a worker is
// idle still.
func (s *Master) offerAgain(to sched.Addr, out *sched.Actions) {
	if s.peer(to) == nil || s.index.Idle(sched.General)+s.index.Idle(sched.Reserved) == 0 {
		return
	}
	var spare *worker
	for _, w := range s.workers {
		if w == nil || !w.Listed() || w.fixed {
			continue
		}
		if spare == nil || (spare.reserved && !w.reserved) {
			spare = w
		}
	}
	if spare != nil {
		s.offer(spare, to.ID, out)
	}
}

// peer returns what is known of another master that is up, else nil.
func (s *Master) peer(a sched.Addr) *peer {
	x := s.sorted
	if x == nil || a.Role != sched.Master || a.ID < 0 || int(a.ID) >= len(x.peers) || !x.peers[a.ID].up {
		return nil
	}
	return &x.peers[a.ID]
}
