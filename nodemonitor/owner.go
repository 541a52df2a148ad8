package nodemonitor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/nodemonitor/inventory"
	"github.com/pigeon-sched/pigeon/nodemonitor/members"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// event is one entry of the owner goroutine's inbox.
type event struct {
	kind  eventKind
	batch *wire.Batch // delivered, acknowledged, announced
	at    time.Time   // delivered: when it arrived
	bytes int64       // delivered: counted by the inbox
	do    func()      // called: anything rare
}

type eventKind uint8

const (
	called       eventKind = iota
	delivered              // messages of other daemons
	acknowledged           // results that a frontend has journaled
	announced              // a frontend has started
)

// owner is the state of the owner goroutine; others read only full and numbered.
type owner struct {
	policy         sched.Policy
	clock          runloop.Clock
	now            sched.Time // of the batch that is being handled
	addrs          *addrmap.Map
	post           func(event)
	workers        *slots.Workers
	results        *results.Reporter
	inventories    *inventory.Inventories
	members        *members.Members            // of the cluster; nil where workers send only to their master
	registeredWith int64                       // the process of the master that accepted this node last
	former         formerMaster                // the one before, where a group has several
	waiting        *daemon.ByteLimit           // the batches in the inbox
	numbered       atomic.Bool                 // the workers have their cores; read when batches come in
	full           atomic.Pointer[slots.Limit] // nil: there is room for all; read when batches come in
	pauses         protocol.Pauses             // of this process, between two heartbeats
	drain          *drain                      // nil while the node does not drain
	stopping       bool                        // the node monitor waits for what runs, or kills it, and then ends
	diskFault      string                      // of the work folder, "" while there is none
	guardFault     string                      // likewise
}

// firstNumbers masks the part of a node's incarnation from which its results are numbered.
const firstNumbers = 1<<62 - 1

// dependencies are what the owner goroutine's parts need of the settings and of outside.
type dependencies struct {
	policy   sched.Policy
	params   sched.Params
	recorder *runloop.Recorder
	tracing  *telemetry.Tracing
}

// openDependencies opens what the owner goroutine's parts need, and finds what a former process
// has left.
func (n *NodeMonitor) openDependencies(deps Deps) (d dependencies, err error) {
	if err := n.life.Secure(n.cfg.Settings, n.metrics.Metrics, n.self.Ref); err != nil {
		return d, err
	}
	if d.policy, d.params, err = n.cfg.Configure(0); err != nil {
		return d, err
	}
	if d.recorder, err = n.life.Record(n.cfg.Record, "node-"+n.cfg.ID); err != nil {
		return d, err
	}
	if d.tracing, err = n.openTracing(deps); err != nil {
		return d, err
	}
	if deps.Guard == nil {
		n.restart.results = n.cfg.RestartGrace
		if d.policy.Sequenced {
			n.restart.grace = n.cfg.RestartGrace
		}
	}
	if err := n.openBackends(deps, d.policy); err != nil {
		return d, err
	}
	if deps.Guard == nil {
		n.findFormer()
	}
	return d, nil
}

// newOwner makes the parts of the owner goroutine and their dependencies.
func (n *NodeMonitor) newOwner(deps Deps) error {
	d, err := n.openDependencies(deps)
	if err != nil {
		return err
	}
	p, heartbeat := d.policy, sched.Time(n.cfg.Heartbeat)
	o := &owner{policy: p, clock: runloop.NewClock(), addrs: addrmap.New(), post: n.post, waiting: daemon.NewByteLimit("limit", inboxBytes),
		pauses: protocol.NewPauses(heartbeat)}
	n.metrics.WatchInbox(o.waiting.Refused)
	if p.SingleMaster() {
		o.addrs = addrmap.NewNumbered()
	}
	n.owner, n.loop = o, runloop.New(inboxLimit, o.handle)
	n.codec = wire.NewCodec(o.addrs, o.clock.Now)
	n.codec.OnUnknown(n.metrics.unknown.Report(n.log))
	n.openReports()
	o.results = results.New(results.Config{
		Self: &n.self.Sender, Limit: n.cfg.MaxResults, MaxBytes: n.cfg.MaxResultBytes, Heartbeat: heartbeat, Names: o.addrs, Calls: n.calls,
		Now: o.instant, Post: n.do, Log: n.log, Metrics: n.metrics.results,
		UnknownJob:  func(frontend sched.Addr, job sched.JobID, called time.Time) { o.workers.KillJob(frontend, job, called) },
		Forget:      sched.Time(n.cfg.FrontendForget),
		Forgotten:   func(frontend sched.Addr) { o.workers.ForgetWaiting(frontend) },
		FirstNumber: n.self.Incarnation & firstNumbers,
		Answered:    o.frontendAnswered,
	})
	o.workers = slots.New(slots.Config{
		Self: &n.self.Sender, Seed: n.cfg.Seed, Policy: p, Params: d.params, Master: n.masterAddr(), MasterRef: n.self.master, Heartbeat: heartbeat,
		Clock: o.clock, Now: o.instant, Post: n.do, Backends: n.backends.ByKind(), Results: o.results, Names: o.addrs,
		Contact: func() (time.Time, int) { c := n.registration.Contact(); return c.Since, c.Lapses },
		Limits:  n.cfg.taskLimits(), Note: n.note(), FirstSeq: n.restart.firstSeq(),
		Changed: func() { n.registration.SendSnapshot() }, Recorder: d.recorder, Tracing: d.tracing, Log: n.log, Metrics: n.metrics.slots,
	})
	o.inventories = n.newInventories()
	n.metrics.WatchMessages(o.workers.Messages)
	for range n.cfg.Slots / p.SlotsPerWorker() {
		o.workers.Add()
	}
	n.openDeliveries()
	return nil
}

// openDeliveries makes what receives the batches of other daemons.
func (n *NodeMonitor) openDeliveries() {
	o := n.owner
	n.deliveries = &deliveries{
		node: n.cfg.ID, incarnation: n.self.Incarnation, master: n.self.master, inbox: link.NewInbox(n.self.Ref, n.self.Incarnation),
		waiting: o.waiting, post: func(e event) error { return n.loop.Post(e) }, superseded: n.metrics.superseded,
	}
	n.deliveries.continues = len(n.restart.continues) > 0
	o.numbered.Store(!o.policy.SingleMaster() && !n.deliveries.continues)
	n.deliveries.numbered = o.numbered.Load
	n.metrics.WatchMisdirected(n.deliveries.inbox.Misdirected)
}

// openReports makes the caller that reports results to frontends.
func (n *NodeMonitor) openReports() {
	var ctx context.Context
	ctx, n.endReports = context.WithCancel(context.Background())
	n.frontends = connections.New("frontend", n.toFrontends())
	n.calls = connections.NewCalls(ctx, n.codec, n.cfg.patience(), n.frontends)
	n.life.OnClose(func() error { n.closeReports(); n.frontends.Close(); return nil })
}

// closeReports ends the calls to frontends.
func (n *NodeMonitor) closeReports() {
	n.endReports()
	n.calls.Wait()
}

func (n *NodeMonitor) masterAddr() sched.Addr {
	return sched.Addr{Role: sched.Master, ID: int32(n.cfg.Group)} //nolint:gosec // validated
}

// instant returns the instant of the batch that is being handled.
func (o *owner) instant() sched.Time { return o.now }

// handle is the owner goroutine's work: it handles all events that have arrived.
func (o *owner) handle(batch []event) {
	o.now = o.clock.Now()
	for i := range batch {
		e := &batch[i]
		switch e.kind {
		case called:
			e.do()
		case delivered:
			o.deliver(e)
		case announced:
			o.frontendSeen(e.batch.Sender, e.batch.Address, e.batch.Incarnation)
		case acknowledged:
			if from, known := o.addrs.Find(e.batch.Sender); known { // else nothing is owed to it
				o.results.Acknowledge(from, e.batch.Acknowledged, e.batch.ResultNumbers)
			}
			o.frontendSeen(e.batch.Sender, e.batch.Address, e.batch.Incarnation)
		}
	}
	o.workers.Flush(o.results.Flush)
	o.inventories.Flush()
	o.full.Store(o.workers.Limit())
}

// deliver steps the messages of another daemon, unless they come from a former master.
func (o *owner) deliver(e *event) {
	epoch, _ := o.workers.Epoch()
	held, dropped := o.former.holds(e, epoch, o.registeredWith)
	if held {
		return
	}
	o.waiting.Leave(e.bytes)
	if !dropped {
		o.workers.Deliver(e.batch, e.at)
	}
}

// masterAccepted is called when a master has accepted this node.
func (o *owner) masterAccepted(process int64) {
	held, dropped := o.former.accepted(process)
	for i := range dropped {
		o.waiting.Leave(dropped[i].bytes)
	}
	o.registeredWith = process
	for i := range held {
		o.deliver(&held[i])
	}
}

// repeat sends, every heartbeat, the results that were not acknowledged within one, and
// after some heartbeats the workers' unanswered requests for tasks.
func (o *owner) repeat() {
	o.workers.StopCutOff()
	o.workers.Repeat()
	o.results.Repeat(o.pauses.Since(o.now))
}

// post puts an event of this node itself into the inbox of the owner goroutine. When that one has
// ended the event is dropped.
func (n *NodeMonitor) post(e event) { _ = n.loop.PostUnbounded(e) }

// do runs a function on the owner goroutine, unless that one has ended.
func (n *NodeMonitor) do(f func()) { n.post(event{do: f}) }

// call runs a function on the owner goroutine and waits for it; it returns false when the
// goroutine has ended.
func (n *NodeMonitor) call(f func()) bool {
	done := make(chan struct{})
	if err := n.loop.PostUnbounded(event{do: func() { f(); close(done) }}); err != nil {
		return false
	}
	<-done // an event that was accepted is handled, also at the end
	return true
}
