package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// hosts holds the cores of all daemons and steps them.
//
// A core keeps its address in the engine for life; a restarted daemon has a new core with
// a new address.
type hosts struct {
	*engine
	byRole  [4][]*host // by the cores' addresses
	check   *checker
	history *history
	crash   func(f *daemon, out []sched.Action) bool // reports whether a frontend dies within its step
}

// validCore is a core of any role, with its invariants.
type validCore interface {
	sched.Core
	Valid() error
}

// host is one core and the daemon in which it lives.
type host struct {
	addr    sched.Addr // in the engine
	p       *process
	life    int // of the daemon
	core    validCore
	newCore func() validCore // returns a new core with the same configuration
	daemon  *daemon
	worker  *worker
}

// dead reports whether the process of the core has ended.
func (h *host) dead() bool { return !h.p.alive || h.life != h.p.life }

// addHost assigns a core its address in the engine.
func (hs *hosts) addHost(role sched.Role, p *process, newCore func() validCore) *host {
	h := &host{addr: sched.Addr{Role: role, ID: int32(len(hs.byRole[role]))}, p: p, life: p.life, core: newCore(), newCore: newCore} //nolint:gosec // cores are few
	hs.byRole[role] = append(hs.byRole[role], h)
	hs.add(h.addr, h.core)
	if role == sched.Worker {
		hs.runs.grow(len(hs.byRole[role]))
	}
	return h
}

// hostOf returns the host of a core.
func (hs *hosts) hostOf(a sched.Addr) *host { return hs.byRole[a.Role][a.ID] }

// stepCore steps a core and carries out its actions.
func (hs *hosts) stepCore(h *host, from sched.Addr, m *sched.Message) {
	if hs.check.err != nil || h == nil || h.dead() {
		return
	}
	hs.out.Reset()
	now := h.p.clock.read(hs.now)
	h.core.Step(now, from, m, &hs.out)
	list := hs.out.List()
	hs.history.record(h, now, from, m, list)
	hs.check.afterStep(h, m, list)
	if h.daemon != nil && h.p.role == sched.Distributor && hs.crash(h.daemon, list) {
		return
	}
	for i := range list {
		hs.act(h.addr, &list[i])
	}
	for len(hs.stopped) > 0 && hs.check.err == nil {
		i := hs.stopped[0]
		hs.stopped = hs.stopped[1:]
		hs.finish(i, sched.Killed)
	}
}

// timeout is called when a timer is due.
func (hs *hosts) timeout(a alarm) {
	h := hs.hostOf(a.core)
	if h.dead() {
		return
	}
	if h.p.resumes > hs.now {
		hs.postpone(a, h.p.resumes)
		return
	}
	hs.stepCore(h, sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: a.token})
}

// postpone defers an alarm.
func (hs *hosts) postpone(a alarm, to sched.Time) {
	hs.num++
	a.stamp = stamp{to, hs.num}
	hs.alarms.push(a)
}

// timerDue converts the instant of a core's timer from the clock of its process.
func (hs *hosts) timerDue(self sched.Addr, at sched.Time) sched.Time {
	return max(hs.now, hs.hostOf(self).p.clock.instant(at))
}
