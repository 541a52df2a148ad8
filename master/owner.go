package master

import (
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/linkset"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// owner is everything that only the owner goroutine touches.
type owner struct {
	cfg         Config
	rules       rules
	log         *slog.Logger
	self        wire.Ref
	addr        sched.Addr
	incarnation int64
	epoch       uint64     // 0: nobody has said hello yet
	core        sched.Core // nil under a policy without masters
	view        sched.GroupView
	steps       *runloop.Stepper
	clock       runloop.Clock
	timers      *runloop.Timers
	addrs       *addrmap.Map
	links       *linkset.Set
	urge        func(func()) // posts what is to be done later in this goroutine
	cargo       *cargo
	crier       *crier
	numbers     *numbers
	nodes       map[string]*node
	frontends   map[string]*frontend
	neighbours  []*neighbour
	nodeOf      map[int32]*node // by worker
	swept       time.Time       // when nodes were looked for last
	meter       *meter
	spans       *spans

	board       *board
	rollChanged bool      // since it was put up
	rollDue     bool      // it is put up before long
	enrolled    time.Time // when it was put up last
}

// step gives the core a message of another core.
func (o *owner) step(from sched.Addr, m *sched.Message) {
	if o.core == nil {
		return
	}
	o.steps.Step(o.core, o.addr, o.clock.Now(), from, m)
}

// stepShell gives the core what only its shell can know.
func (o *owner) stepShell(m *sched.Message) { o.step(sched.Addr{}, m) }

// take steps the items of a batch that a peer delivered.
func (o *owner) take(b *wire.Batch) {
	switch b.Sender.Role {
	case sched.Distributor:
		if f := o.frontends[b.Sender.Name]; f == nil || f.incarnation != b.Incarnation {
			o.meter.stale.Inc()
			return // it registers with its next hello, and then sends all that this group is to hold
		}
		from := o.addrs.Addr(b.Sender.Daemon())
		for i := range b.Items {
			o.takeTasks(from, &b.Items[i])
		}
	case sched.Worker:
		n := o.nodes[b.Sender.Name]
		if n == nil || n.incarnation != b.Incarnation {
			o.meter.stale.Inc()
			return // of a node that was lost, or not registered yet
		}
		for i := range b.Items {
			it := &b.Items[i]
			if s := n.slots[it.From.Slot]; s != nil {
				o.meter.notice(it.Msg.Kind)
				o.step(s.worker, &it.Msg)
			}
		}
	case sched.Master:
		from, known := o.neighbour(b)
		if !known {
			o.meter.stale.Inc()
			return // it was restarted or is not reached yet: what it offered is void
		}
		for i := range b.Items {
			o.step(from, &b.Items[i].Msg)
		}
	}
}

func (o *owner) takeTasks(from sched.Addr, it *wire.Item) {
	if it.Msg.Kind == sched.Tasks {
		if !it.Msg.Valid() || it.Msg.Attempt < 1 || it.Msg.Count < 1 {
			return // the core would ignore it, and never say that its cargo can go
		}
		it.Msg.Owner = from // reports go to who sent the tasks
		o.cargo.load(it)
	}
	o.step(from, &it.Msg)
	if it.Msg.Kind == sched.Tasks && o.crier.mayHinder() && o.view.Share(it.Msg.Job, 0).Queued > 0 {
		o.crier.waits(&it.Msg)
	}
}

// act carries out one action of the core.
func (o *owner) act(self sched.Addr, a *sched.Action) {
	switch a.Kind {
	case sched.Send:
		o.send(a)
	case sched.Timer:
		o.timers.Set(self, a.At, a.Token)
	case sched.Forget:
		o.cargo.drop(a.Msg.Job)
	}
}

func (o *owner) send(a *sched.Action) {
	if a.To.ID == sched.Everyone {
		o.spread(a)
		return
	}
	ref, known := o.addrs.Ref(a.To)
	if !known || (a.To.Role == sched.Worker && o.nodeOf[a.To.ID] == nil) {
		return // a worker that was lost
	}
	it := wire.Item{From: o.self, To: ref, Msg: a.Msg}
	if a.Msg.Kind == sched.Launch || a.Msg.Kind == sched.Preempt {
		o.load(&it, ref)
	}
	o.links.Queue(&it)
}

// spread sends a message to every frontend; each has a queue of its own, so their
// order means nothing.
func (o *owner) spread(a *sched.Action) {
	if a.To.Role != sched.Distributor {
		return
	}
	for _, f := range o.frontends {
		o.links.Queue(&wire.Item{From: o.self, To: f.ref, Msg: a.Msg})
	}
	o.steps.Spread(&a.Msg, len(o.frontends))
}

// load puts a launch's cargo beside it.
func (o *owner) load(it *wire.Item, to wire.Ref) {
	id := it.Msg.AttemptID()
	extra, arrived := o.cargo.unload(id)
	it.Extra = extra
	if it.Msg.App != "" {
		if it.Contended = o.view.Contended(it.Msg.App, it.Msg.Class); !it.Contended {
			o.crier.launched(&it.Msg)
		}
	}
	o.meter.launched(it.Msg.Class, arrived)
	o.spans.queued(it, to, arrived)
}

// flush sends what the batch decided.
func (o *owner) flush() {
	o.links.Flush()
	o.enrol()
	o.meter.publish(o)
}
