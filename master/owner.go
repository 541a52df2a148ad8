package master

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master/nodes"
	"github.com/pigeon-sched/pigeon/master/payloads"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// owner is the state of the owner goroutine. Its parts are independent of each other; it
// passes messages between them.
type owner struct {
	cfg         Config
	policy      sched.Policy
	log         *slog.Logger
	self        wire.Ref
	incarnation int64
	epoch       protocol.Epoch // number 0: no peer has registered yet
	follows     bool           // this master may follow another one whatever epochs are reported
	expected    protocol.Expected
	core        *groupCore
	addrs       *addrmap.Map
	links       *link.Set
	nodes       *nodes.Nodes
	departed    *protocol.Departures // nodes and frontends, as users see them
	frontends   *frontends
	absence     absence
	siblings    *siblings
	payloads    *payloads.Store
	leases      *leaseRevoker
	publication *publication
	metrics     *metrics
	refusals    daemon.LogPace // hellos that were refused
	spans       *spans
	shares      shares
	began       sched.Time
	version     string // of this binary
	nodeRefused bool   // a node has refused launches, perhaps of a silent frontend
}

// newOwner returns an owner without a core, without links, and without the parts that need
// them.
func newOwner(cfg Config, p sched.Policy, names *addrmap.Map, clock runloop.Clock, incarnation int64, log *slog.Logger) *owner {
	self := addrmap.MasterRef(cfg.Group)
	return &owner{
		cfg: cfg, policy: p, log: log, self: self, incarnation: incarnation, addrs: names, payloads: payloads.New(),
		core: &groupCore{self: names.Addr(self), clock: clock}, metrics: newMetrics(clock.Now), began: clock.Now(), version: daemon.Version(),
	}
}

// addDaemons makes the tables of nodes and frontends, which need links, and the view of a
// group without a core, which needs nodes.
func (o *owner) addDaemons(p sched.Policy) {
	o.departed = protocol.NewDepartures(o.incarnation, mostDeparted)
	o.nodes = nodes.New(nodes.Config{
		Group: o.cfg.Group, Policy: p, LostAfter: o.cfg.LostAfter, Addrs: o.addrs, Core: o.core, Links: o.links, Jobs: o.payloads,
		Departed: o.departed, Changed: o.publication.changed, Now: o.core.clock.Now, Log: o.log,
	})
	o.frontends = newFrontends(o.cfg, o.addrs, o.links, o.publication.changed, o.frontendUp, o.core.clock.Now, o.log)
	o.frontends.states = newFrontendStates(o.departed, o.core.clock.Now)
	o.frontends.returnTasks = o.frontendAway
	o.frontends.readdressed = func(before, now wire.MemberFrontend) {
		o.payloads.Readdress(before.Address, now.Address, now.Scheduler)
	}
	o.absence = newAbsence(sched.Time(o.cfg.MasterLost), o.core.clock.Now())
	o.core.view = o.nodes.View()
	if o.core.core != nil {
		o.core.view = o.core.core
	}
}

// frontendUp makes the core tell a new process of a frontend which of its tasks the group holds.
func (o *owner) frontendUp(frontend sched.Addr) {
	o.core.StepShell(&sched.Message{Kind: sched.DistributorUp, Distributor: frontend})
}

// frontendAway makes the core return the tasks that wait for a frontend.
func (o *owner) frontendAway(frontend sched.Addr, why awayReason) {
	ref, _ := o.addrs.Ref(frontend)
	o.metrics.away[why].Inc()
	o.log.Warn("the tasks that wait for a silent frontend are returned to it; others go on", "frontend", ref.Name, "reason", awayReasons[why])
	o.core.StepShell(&sched.Message{Kind: sched.DistributorAway, Distributor: frontend})
}

// seen is called with each message of a node before it is stepped. If a frontend is silent
// when a node refuses a launch by itself, that may be for lack of room for its results. Its
// tasks would be launched and refused for as long as it is away, so they are returned before
// the slot is idle again.
func (o *owner) seen(m *sched.Message) {
	o.metrics.message(m.Kind)
	switch m.Kind {
	case sched.Refused:
		o.nodeRefused = o.nodeRefused || len(o.frontends.silent) > 0 && sched.RefusalOf(m) == sched.RefusedByNode
	case sched.Idle:
		o.returnRefused()
	}
}

// returnRefused returns the tasks of silent frontends if a node has refused some.
func (o *owner) returnRefused() {
	if o.nodeRefused {
		o.nodeRefused = false
		o.frontends.returnRefused()
	}
}

// deliver steps the items of a batch. A batch of a peer that is not registered is dropped:
// the peer registers with its next hello and then sends again what this group should hold;
// the offers of another master that was restarted are void.
func (o *owner) deliver(b *wire.Batch) {
	registered := false
	switch b.Sender.Role {
	case sched.Distributor:
		if registered = o.frontends.registered(b); registered {
			from := o.addrs.Addr(b.Sender.Daemon())
			for i := range b.Items {
				o.deliverTasks(from, &b.Items[i])
			}
		}
	case sched.Worker:
		registered = o.nodes.Deliver(b, o.seen)
		o.returnRefused()
	case sched.Master:
		var from sched.Addr
		if from, registered = o.siblings.sender(b); registered {
			for i := range b.Items {
				o.core.Step(from, &b.Items[i].Msg)
			}
		}
	}
	if !registered {
		o.metrics.stale.Inc()
	}
}

// deliverTasks steps a frontend's message, and stores the payloads of its tasks.
func (o *owner) deliverTasks(from sched.Addr, it *wire.Item) {
	if it.Msg.Kind == sched.Tasks {
		if !it.Msg.Valid() || it.Msg.Attempt < 1 || it.Msg.Count < 1 {
			return // the core would ignore it, and never forget its payloads
		}
		it.Msg.Distributor = from // reports go to the sender of the tasks
		if !it.Msg.Resent && o.payloads.Bytes()+payloads.Size(it) > o.cfg.MaxBytes {
			o.returnTasks(it)
			return
		}
		o.payloads.Put(it)
	}
	o.core.Step(from, &it.Msg)
	if it.Msg.Kind == sched.Tasks && o.leases.mayExist() && o.core.view.Share(it.Msg.Job, 0).Queued > 0 {
		o.leases.revoke(&it.Msg)
	}
}

// returnTasks returns tasks for whose payloads there is no room; their frontend tries again.
// Tasks that were sent before are never returned for that: they may run here.
func (o *owner) returnTasks(it *wire.Item) {
	m := &it.Msg
	o.metrics.full.Add(float64(m.Count))
	why := fmt.Sprintf("the payloads of the master of group %d have %d bytes, and its limit max_bytes is %d", o.cfg.Group, o.payloads.Bytes(), o.cfg.MaxBytes)
	if omitted, due := o.refusals.Due("payloads", "full", time.Now()); due {
		o.log.Warn("tasks are returned to their frontend, which tries again", "frontend", it.From.Name, "error", why, "omitted", omitted)
	}
	o.links.Queue(&wire.Item{From: o.self, To: it.From, Msg: sched.Message{
		Kind: sched.Returned, Job: m.Job, First: m.First, Count: m.Count, Attempt: m.Attempt, Full: true, Reason: why,
	}})
}

// linkState is called when messages begin to reach a peer, or no longer do.
func (o *owner) linkState(peer wire.Ref, s link.State) {
	o.nodes.LinkState(peer, s)
	o.frontends.states.linkState(peer, s)
}

// peerRefused is called when a peer has refused messages for good. A node is then lost; a
// frontend still receives all other messages.
func (o *owner) peerRefused(peer wire.Ref, messages int, why error) {
	o.log.Error("a peer refused messages", "peer", peer.String(), "messages", messages, "error", why)
	o.nodes.RefusedMessages(peer, why)
}

// withheld is called with messages of kinds that a peer's version does not know. The core
// receives the refusals of launches that the peer would have sent.
func (o *owner) withheld(peer wire.Ref, items []wire.Item) {
	answers := o.metrics.unknown.Withheld(o.log, peer, items)
	for i := range answers {
		if from, ok := o.addrs.Find(answers[i].From); ok && o.nodes.Has(from) {
			o.core.Step(from, &answers[i].Msg)
		}
	}
}

// peerRestarted is called when another process answers in place of a registered one: the
// registered one has ended, or its hello arrived after that of its successor.
func (o *owner) peerRestarted(peer wire.Ref, incarnation int64) {
	o.nodes.Restarted(peer, incarnation)
	o.frontends.restarted(peer, incarnation)
}

// sweep finds the lost nodes and the silent frontends, and forgets those that have been
// gone for that long: the links to them, with goroutines and connections, their last
// batches, and their names.
func (o *owner) sweep(inbox *link.Inbox, forgetAfter time.Duration) {
	o.nodes.Sweep()
	o.frontends.sweep()
	for _, name := range o.nodes.Forget(forgetAfter) {
		inbox.Forget(wire.Ref{Role: sched.Worker, Name: name})
	}
	for _, name := range o.frontends.forget(forgetAfter) {
		inbox.Forget(frontendRef(name))
	}
	if links := o.links.Forget(forgetAfter, time.Now()); len(links) > 0 {
		o.log.Info("peers that have been gone for long were forgotten", "links", len(links), "after", forgetAfter)
	}
}

// flush sends the messages that the batch caused, or drops them if this master does not lead
// any more.
func (o *owner) flush(leads bool) {
	if leads {
		o.links.Flush()
		o.publication.publish(o.nodes, o.frontends)
	} else {
		o.links.Discard()
	}
	o.metrics.refresh(o)
}
