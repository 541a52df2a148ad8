package master

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// mostDeparted bounds the nodes that are shown though they are not registered, and the
// frontends that are though they are not on the membership.
const mostDeparted = 1000

// frontendStates is how the frontends are shown to users; nothing is decided by it. It
// belongs to the owner goroutine.
type frontendStates struct {
	present  map[string]*frontendState // on the membership
	departed *protocol.Departures      // of daemons of all roles; the frontends record theirs
	now      func() sched.Time
}

type frontendState struct {
	address, version string
	since            sched.Time // when the state began
	problem          string     // why messages do not reach it, "" while they do
	stopping         bool
}

func newFrontendStates(departed *protocol.Departures, now func() sched.Time) frontendStates {
	return frontendStates{present: map[string]*frontendState{}, departed: departed, now: now}
}

// registered is called when a hello of a frontend was accepted.
func (f *frontendStates) registered(h *wire.Hello) {
	s := f.present[h.Sender.Name]
	if s == nil || s.address != h.Address || s.stopping {
		s = &frontendState{since: f.now()}
		f.present[h.Sender.Name] = s
	}
	s.address, s.version = h.Address, h.Version
	f.departed.Forget(sched.Distributor, h.Sender.Name, f.now())
}

// linkState is called when messages begin to reach a frontend, or no longer do.
func (f *frontendStates) linkState(peer wire.Ref, state link.State) {
	s := f.present[peer.Name]
	if peer.Role != sched.Distributor || s == nil || s.stopping {
		return
	}
	problem := api.Reason(state.Err)
	if (problem == "") != (s.problem == "") {
		s.since = f.now()
	}
	s.problem = problem
}

// stops is called when a frontend has announced that it stops in order.
func (f *frontendStates) stops(name string) {
	if s := f.present[name]; s != nil && !s.stopping {
		s.stopping, s.since = true, f.now()
	}
}

// silent is called when a frontend has left the membership.
func (f *frontendStates) silent(name string) {
	s := f.present[name]
	if s == nil {
		return
	}
	delete(f.present, name)
	x := protocol.Departure{Role: sched.Distributor, Name: name, Address: s.address, Version: s.version, State: api.StateLost, Reason: "it is silent", Since: f.now()}
	switch {
	case s.stopping:
		x.State, x.Reason, x.Since = api.StateStopped, "it was stopped in order", s.since
	case s.problem != "":
		x.Reason += ": " + s.problem
	}
	f.departed.Record(x, f.now())
}

// refused is called when the hello of a frontend was refused.
func (f *frontendStates) refused(h *wire.Hello, problem string) {
	f.departed.Record(protocol.Departure{
		Role: sched.Distributor, Name: h.Sender.Name, Address: h.Address, Version: h.Version, State: api.StateLost, Reason: "its hello is refused: " + problem,
		Since: f.now(), Until: f.now() + sched.Time(time.Minute),
	}, f.now())
}

// list returns all frontends; those that departed longer ago than after are forgotten.
func (f *frontendStates) list(names []wire.MemberFrontend, after time.Duration) (list []api.DaemonState) {
	now := f.now()
	for i := range names {
		s := f.present[names[i].Name]
		if s == nil {
			continue
		}
		d := api.DaemonState{Name: names[i].Name, Address: s.address, Version: s.version, Scheduler: names[i].Scheduler, State: api.StateUp, Reason: s.problem, StateSeconds: (now - s.since).Seconds()}
		switch {
		case s.stopping:
			d.State, d.Reason = api.StateStopped, "it was stopped in order"
		case s.problem != "":
			d.State = api.StateUnreachable
		}
		list = append(list, d)
	}
	f.departed.Expire(sched.Time(after), now)
	for _, x := range f.departed.All(sched.Distributor) {
		list = append(list, api.DaemonState{Name: x.Name, Address: x.Address, Version: x.Version, State: x.State, Reason: x.Reason, StateSeconds: (now - x.Since).Seconds()})
	}
	return list
}

// showRefused makes the status show a daemon whose hello was refused, with the reason.
func (o *owner) showRefused(h *wire.Hello, problem string) {
	switch h.Sender.Role {
	case sched.Worker:
		o.nodes.Refused(h, problem)
	case sched.Distributor:
		o.frontends.states.refused(h, problem)
	}
}

// showDaemons adds this master and the frontends to the state of the group.
func (o *owner) showDaemons(s *api.MasterState) {
	s.Departed = o.nodes.Departed(o.cfg.ForgetAfter)
	s.Master = &api.DaemonState{Name: fmt.Sprint(o.cfg.Group), State: api.StateUp, StateSeconds: (o.core.clock.Now() - o.began).Seconds(), Version: o.version}
	s.Frontends = o.frontends.states.list(o.frontends.members(), o.cfg.ForgetAfter)
}

// exchangeDepartures records what a frontend knows of daemons that departed before this master
// was started, and adds to the answer what has changed here since the frontend last heard.
func (o *owner) exchangeDepartures(h *wire.Hello, r *wire.HelloReply) {
	now := o.core.clock.Now()
	for i := range h.Departed {
		x := h.Departed[i].At(now)
		o.departed.Merge(x, o.registered(&x), now)
	}
	heard := h.Departures
	if h.DeparturesOf != o.incarnation {
		heard = 0 // of another process of the master
	}
	list, last := o.departed.Changes(heard, wire.MaxDepartures)
	r.Departed, r.Departures = wire.DeparturesAt(list, now), last
}

// registered reports whether a daemon of the departed one's name is registered.
func (o *owner) registered(x *protocol.Departure) bool {
	if x.Role == sched.Worker {
		return o.nodes.Registered(x.Name)
	}
	return o.frontends.states.present[x.Name] != nil
}

// forgetNode stops showing a node or frontend that is not registered any more. It reports
// whether there was one.
func (o *owner) forgetNode(name string) (bool, error) {
	if o.frontends.states.present[name] != nil && !o.nodes.Knows(name) {
		return false, &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("the frontend is registered in group %d", o.cfg.Group), Subject: fmt.Sprintf("frontend %q", name),
			Tried: "forgetting it; nothing was changed", Next: fmt.Sprintf("stop it; %v after its last hello it can be forgotten", silentAfter*o.cfg.LostAfter),
		}
	}
	node, err := o.nodes.ForgetDeparted(name)
	frontend := o.departed.Forget(sched.Distributor, name, o.core.clock.Now())
	if node || frontend {
		o.log.Info("a daemon that has departed is not shown any more", "name", name)
	}
	return node || frontend, err
}
