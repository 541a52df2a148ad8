package master

import (
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/roster"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// groupCore is what the shell needs of a policy's master beside stepping it.
type groupCore interface {
	sched.Core
	Epoch() uint64
	Index() *queue.Index
	Job(sched.JobID) (queued, running int)
	Workers(queue.Kind) int
	Counts() pigeon.Counts
	Nodes() []pigeon.NodeView
	Running(sched.JobID) []pigeon.RunningTask
}

// owner is everything that only the owner goroutine touches.
type owner struct {
	cfg         Config
	log         *slog.Logger
	self        wire.Ref
	addr        sched.Addr
	incarnation int64
	core        groupCore
	steps       *runloop.Stepper
	clock       runloop.Clock
	timers      *runloop.Timers
	roster      *roster.Roster
	open        func(to wire.Ref, address string, incarnation int64) (*outlet, error)
	cargo       *cargo
	nodes       map[string]*node
	frontends   map[string]*frontend
	nodeOf      map[int32]*node // by worker
	dirty       []*outlet       // with items to send after the batch
	swept       time.Time       // when nodes were looked for last
	meter       *meter
	spans       *spans
}

// step gives the core a message of another core.
func (o *owner) step(from sched.Addr, m *sched.Message) {
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
		from := o.roster.Addr(b.Sender.Daemon())
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
			if w, ok := n.slots[it.From.Slot]; ok {
				o.meter.notice(it.Msg.Kind)
				o.step(w, &it.Msg)
			}
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
	it := wire.Item{From: o.self, Msg: a.Msg}
	switch a.To.Role {
	case sched.Worker:
		ref, _ := o.roster.Ref(a.To)
		it.To = ref
		if a.Msg.Kind == sched.Launch {
			o.load(&it, ref)
		}
		if n := o.nodeOf[a.To.ID]; n != nil {
			o.queue(n.out, it)
		}
	case sched.Distributor:
		if a.To.ID == sched.Everyone {
			for _, f := range o.frontends { // each has a queue of its own: their order means nothing
				it.To = f.out.peer
				o.queue(f.out, it)
			}
			return
		}
		ref, _ := o.roster.Ref(a.To)
		if f := o.frontends[ref.Name]; f != nil {
			it.To = ref
			o.queue(f.out, it)
		}
	}
}

// load puts a launch's cargo beside it.
func (o *owner) load(it *wire.Item, to wire.Ref) {
	id := it.Msg.AttemptID()
	extra, arrived := o.cargo.unload(id)
	it.Extra = extra
	o.meter.launched(it.Msg.Class, arrived)
	o.spans.queued(it, to, arrived)
}

func (o *owner) queue(out *outlet, it wire.Item) {
	if len(out.pending) == 0 {
		o.dirty = append(o.dirty, out)
	}
	out.pending = append(out.pending, it)
}

// flush sends what the batch decided.
func (o *owner) flush() {
	for _, out := range o.dirty {
		out.flush(o.log)
	}
	o.dirty = o.dirty[:0]
	o.meter.publish(o)
}
