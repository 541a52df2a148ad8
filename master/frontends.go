package master

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master/nodes"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// silentAfter is after how many times LostAfter a silent frontend leaves the membership.
// The factor is large because workers drop their requests to a frontend that is not on the
// membership.
const silentAfter = 5

// frontends are the registered frontends. A silent one is off the membership until its
// next hello, and messages to it wait. They belong to the owner goroutine.
type frontends struct {
	group     int
	lostAfter sched.Time
	addrs     *addrmap.Map
	links     *link.Set
	changed   func() // is called when the membership has changed
	// newOwner is called when a new process of a frontend has been registered and its
	// link is open.
	newOwner func(sched.Addr)
	now      func() sched.Time
	log      *slog.Logger
	registry *protocol.Registry
	byName   map[string]wire.MemberFrontend
	silent   map[string]bool // by name, the frontends off the membership
	states   frontendStates
	tokens   map[string]uint64 // by name: of the leadership of the process that is registered
	// readdressed is called when a frontend serves at other addresses than before.
	readdressed func(before, now wire.MemberFrontend)
	// returnTasks returns the tasks that wait for a frontend.
	returnTasks func(sched.Addr, awayReason)
}

// awayReason is why the tasks that wait for a frontend are returned.
type awayReason int

const (
	awayUnreached awayReason = iota // it and this master have not reached each other for most of master_lost
	awayNoRoom                      // it is silent, and a node refused a launch, perhaps for lack of room for its results
)

// awayReasons are the reasons in metrics and logs.
var awayReasons = [...]string{"unreached", "refused"}

func newFrontends(c Config, names *addrmap.Map, links *link.Set, changed func(), newOwner func(sched.Addr), now func() sched.Time, log *slog.Logger) *frontends {
	limit := sched.Time(c.LostAfter)
	return &frontends{
		group: c.Group, lostAfter: limit, addrs: names, links: links, changed: changed, newOwner: newOwner, now: now, log: log,
		registry: protocol.NewRegistry(limit/protocol.SweepsToLoss, silentAfter*limit), byName: map[string]wire.MemberFrontend{},
		silent: map[string]bool{}, tokens: map[string]uint64{},
	}
}

func frontendRef(name string) wire.Ref { return wire.Ref{Role: sched.Distributor, Name: name} }

func (f *frontends) len() int { return len(f.byName) }

// registered reports whether the registered process of its sender sent a batch.
func (f *frontends) registered(b *wire.Batch) bool {
	return f.registry.Registered(b.Sender.Name, b.Incarnation)
}

// hello registers a frontend and returns why it was refused. A new process of a frontend
// keeps its number, since it continues the same journal.
func (f *frontends) hello(h *wire.Hello) refusal {
	name, ref, now := h.Sender.Name, frontendRef(h.Sender.Name), f.now()
	verdict := f.registry.Classify(name, h.Incarnation, h.Address, f.lostAfter, now, f.links.Up(ref))
	if last := f.tokens[name]; h.Token > 0 && last > 0 && h.Token != last { // tokens have an order, incarnations have none
		if verdict = protocol.Restarted; h.Token < last {
			verdict = protocol.Replaced
		}
	}
	switch verdict {
	case protocol.Renewed:
		f.states.registered(h)
		if f.registry.Enter(name, h.Incarnation, h.Address, now) {
			f.changed()
		}
		return refusal{}
	case protocol.Conflict:
		return refusal{nodes.RefusedName, fmt.Sprintf("a frontend named %q at %s is registered in group %d and alive, so the frontend at %s was refused; give one of them another id",
			name, f.byName[name].Address, f.group, h.Address)}
	case protocol.Replaced:
		return refusal{nodes.RefusedReplaced, fmt.Sprintf("a later process of frontend %q is registered in group %d, at %s, so the hello of its earlier process was refused; if both run, give one of them another id",
			name, f.group, f.byName[name].Address)}
	}
	f.links.Add(ref, h.Address, h.Incarnation)
	f.links.Reset(ref) // also where the same process answers again
	if err := f.links.Open(ref); err != nil {
		return refusal{nodes.RefusedAddress, err.Error()}
	}
	at := f.addrs.Addr(ref) // numbers it
	f.registry.Enter(name, h.Incarnation, h.Address, now)
	f.tokens[name] = h.Token
	before, after := f.byName[name], wire.MemberFrontend{Name: name, Address: h.Address, Incarnation: h.Incarnation, Scheduler: h.SchedulerAddress}
	f.byName[name] = after
	if before.Address != "" && before.Address != after.Address {
		f.readdressed(before, after)
	}
	f.states.registered(h)
	f.changed()
	f.log.Info("frontend registered", "frontend", name, "address", h.Address, "version", h.Version)
	f.newOwner(at)
	return refusal{}
}

// restarted is called when another process answers in place of a frontend's.
func (f *frontends) restarted(peer wire.Ref, incarnation int64) {
	if peer.Role == sched.Distributor {
		f.registry.Gone(peer.Name, incarnation)
	}
}

// sweep finds the frontends that have fallen silent.
func (f *frontends) sweep() {
	for _, name := range f.registry.Sweep(f.now()) {
		f.changed()
		f.silent[name] = true
		f.states.silent(name)
		f.log.Warn("a frontend is silent and leaves the membership until its next hello", "frontend", name, "address", f.byName[name].Address, "for", silentAfter*time.Duration(f.lostAfter))
	}
}

// returnRefused makes the core return the tasks that wait for silent frontends. The
// messages wait in their links until the frontends are reached again.
func (f *frontends) returnRefused() {
	for _, name := range slices.Sorted(maps.Keys(f.silent)) {
		if !f.registry.Silent(name) {
			delete(f.silent, name)
			continue
		}
		f.returnTasks(f.addrs.Addr(frontendRef(name)), awayNoRoom)
	}
}

// forget forgets the frontends that have been silent for that long, and returns their names.
// Their numbers are kept: the core may hold running tasks of theirs. Waiting tasks were
// returned long before; one that comes back is registered again, and sends everything again.
func (f *frontends) forget(after time.Duration) []string {
	names := f.registry.Forget(sched.Time(after), f.now())
	for _, name := range names {
		delete(f.silent, name)
		delete(f.tokens, name) // those of a new store of leaderships begin again
		f.links.Remove(frontendRef(name))
		delete(f.byName, name)
	}
	return names
}

// members lists the frontends for the membership, in the order of their names.
func (f *frontends) members() []wire.MemberFrontend {
	list := make([]wire.MemberFrontend, 0, len(f.byName))
	for _, name := range slices.Sorted(maps.Keys(f.byName)) {
		if !f.registry.Silent(name) {
			list = append(list, f.byName[name])
		}
	}
	return list
}

// refs returns the names of all frontends, in no order.
func (f *frontends) refs() []wire.Ref {
	list := make([]wire.Ref, 0, len(f.byName))
	for name := range f.byName {
		list = append(list, frontendRef(name))
	}
	return list
}
