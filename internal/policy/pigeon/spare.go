package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// announceTo is the number of other masters to which a spare worker is announced.
	announceTo = 2
	// announceAgain is the number of cutoffs after which a flag that should still be set is
	// set again: the task for it may have been dropped.
	announceAgain = 10
)

// announcement is a master's record of the flag that another one keeps for its group. A
// flag stays set until a task uses it, and that task is sent here; so a notice that would
// not change the flag need not be sent.
type announcement struct {
	known   bool           // a spare worker was announced there: that master knows this group
	service *queue.Service // of the worker announced; nil for none
	general bool           // it accepts both classes
	until   sched.Time     // the flag is assumed to be set
}

// becameIdle implements hooks: the worker is announced to two random other masters. The
// queues hold nothing for it. For a general worker both are empty then; a reserved
// one counts although long tasks wait, since it may not take them (without these
// notices short jobs of the ngo trace take 3 % longer). A slot that belongs
// to one application is not offered, and neither is one that takes nothing, because its node
// drains or cannot be reached: the notice would replace that of a worker which does.
func (x *transfer) becameIdle(w *worker, out *sched.Actions) {
	n := len(x.others)
	if n == 0 || !w.spare() {
		return
	}
	first := x.draws.IntN(n)
	x.offer(w, x.others[first], out)
	if n >= announceTo {
		second := x.draws.IntN(n - 1)
		if second >= first {
			second++
		}
		x.offer(w, x.others[second], out)
	}
}

// spare reports whether the worker may serve tasks of other groups when it is idle.
func (w *worker) spare() bool { return !w.fixed && len(w.service.Names) > 0 }

// offer announces an idle worker to another master, unless its flag is set already.
func (x *transfer) offer(w *worker, to int32, out *sched.Actions) {
	t := &x.peers[to].announced
	if t.known && t.service == w.service && (t.general || w.reserved) && x.now < t.until {
		return
	}
	t.service, t.general, t.until = w.service, !w.reserved, x.now+announceAgain*x.cfg.Params.Cutoff
	m := out.Send(sched.Addr{Role: sched.Master, ID: to}, sched.Spare)
	m.Serves, m.Reserved = w.service.Names, w.reserved
}

// tasksFrom implements hooks: a task that came from another group has used up the flag
// there for this one.
func (x *transfer) tasksFrom(from sched.Addr, accepted bool, out *sched.Actions) {
	p := x.peer(from)
	if p == nil {
		return
	}
	p.announced.service = nil
	if accepted {
		x.offerAgain(from, out)
	}
}

// offerAgain sets the flag again that a task from that group used, if a worker is
// still idle.
func (x *transfer) offerAgain(to sched.Addr, out *sched.Actions) {
	if x.index.Idle(sched.General)+x.index.Idle(sched.Reserved) == 0 {
		return
	}
	var spare *worker
	for _, w := range x.workers {
		if w == nil || !w.Listed() || !w.spare() {
			continue
		}
		if spare == nil || (spare.reserved && !w.reserved) {
			spare = w
		}
	}
	if spare != nil {
		x.offer(spare, to.ID, out)
	}
}

// peer returns the record of another master that is up, else nil.
func (x *transfer) peer(a sched.Addr) *peer {
	if a.Role != sched.Master || a.ID < 0 || int(a.ID) >= len(x.peers) || !x.peers[a.ID].up {
		return nil
	}
	return &x.peers[a.ID]
}
