package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// announceTo is to how many other masters a spare worker is announced.
	announceTo = 2
	// announceAgain is after how many cutoffs a flag is set anew that should be set still:
	// the task for it may have been dropped.
	announceAgain = 10
)

// announcement is what a master knows of the flag that another one keeps for its group. A
// flag stays until a task takes it, and that task comes here; so a notice that would
// not change it need not be sent.
type announcement struct {
	known   bool           // a spare worker was announced there: that master knows this group
	service *queue.Service // of the worker announced; nil for none
	general bool           // it takes both classes
	until   sched.Time     // the flag is taken to be set
}

// becameIdle implements hooks: the worker is announced to two random other masters. The
// queues hold nothing for it. For a general worker both are empty then; a reserved
// one counts although long tasks wait, since it may not take them (without these
// notices short jobs of the ngo trace take 3 % longer). A slot of one application's
// own is not offered.
func (e *extension) becameIdle(w *worker, out *sched.Actions) {
	n := len(e.others)
	if n == 0 || w.fixed {
		return
	}
	first := e.draws.IntN(n)
	e.offer(w, e.others[first], out)
	if n >= announceTo {
		second := e.draws.IntN(n - 1)
		if second >= first {
			second++
		}
		e.offer(w, e.others[second], out)
	}
}

// offer announces an idle worker to another master, unless its flag is set already.
func (e *extension) offer(w *worker, to int32, out *sched.Actions) {
	t := &e.peers[to].announced
	if t.known && t.service == w.service && (t.general || w.reserved) && e.now < t.until {
		return
	}
	t.service, t.general, t.until = w.service, !w.reserved, e.now+announceAgain*e.cfg.Params.Cutoff
	m := out.Send(sched.Addr{Role: sched.Master, ID: to}, sched.Spare)
	m.Serves, m.Reserved = w.service.Names, w.reserved
}

// tasksFrom implements hooks: a task that came from another group has used up the flag
// there for this one.
func (e *extension) tasksFrom(from sched.Addr, taken bool, out *sched.Actions) {
	p := e.peer(from)
	if p == nil {
		return
	}
	p.announced.service = nil
	if taken {
		e.offerAgain(from, out)
	}
}

// offerAgain sets the flag anew that a task from that group took, if a worker is
// idle still.
func (e *extension) offerAgain(to sched.Addr, out *sched.Actions) {
	if e.index.Idle(sched.General)+e.index.Idle(sched.Reserved) == 0 {
		return
	}
	var spare *worker
	for _, w := range e.workers {
		if w == nil || !w.Listed() || w.fixed {
			continue
		}
		if spare == nil || (spare.reserved && !w.reserved) {
			spare = w
		}
	}
	if spare != nil {
		e.offer(spare, to.ID, out)
	}
}

// peer returns what is known of another master that is up, else nil.
func (e *extension) peer(a sched.Addr) *peer {
	if a.Role != sched.Master || a.ID < 0 || int(a.ID) >= len(e.peers) || !e.peers[a.ID].up {
		return nil
	}
	return &e.peers[a.ID]
}
