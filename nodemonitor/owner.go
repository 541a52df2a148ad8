package nodemonitor

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/members"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// event is one entry of the owner's inbox.
type event struct {
	kind  eventKind
	end   slots.End   // ended
	batch *wire.Batch // delivered, acknowledged
	at    time.Time   // delivered: when it came
	do    func()      // called: anything rare
}

type eventKind uint8

const (
	called       eventKind = iota
	delivered              // messages of other daemons
	ended                  // an attempt's end
	acknowledged           // results that a frontend has journaled
)

// owner is everything that only the owner goroutine touches, but for crowded.
type owner struct {
	log         *slog.Logger
	self        wire.Ref // the node
	address     string   // where it serves other daemons
	incarnation int64
	master      sched.Addr
	masterRef   wire.Ref
	heartbeat   sched.Time
	policy      sched.Policy
	clock       runloop.Clock
	addrs       *addrmap.Map
	post        func(event)
	workers     *slots.Workers
	results     *results.Reporter
	links       links            // to frontends and other nodes; nil where workers send to their master alone
	changed     func()           // has a snapshot sent at once
	members     *members.Members // of the cluster; nil where workers send to their master alone
	crowded     atomic.Bool      // no room for more work; read when batches come in
}

// links are the links to other daemons, by their names; a *linkset.Set is one.
type links interface {
	members.Links
	Close() error
	slots.Peers
}

// handle is the owner goroutine's work: everything that came since the last time.
func (o *owner) handle(batch []event) {
	o.workers.Begin(o.clock.Now())
	for i := range batch {
		e := &batch[i]
		switch e.kind {
		case called:
			e.do()
		case delivered:
			o.workers.Deliver(e.batch, e.at)
		case ended:
			o.workers.Ended(&e.end)
		case acknowledged:
			o.results.Acknowledge(e.batch.Acknowledged)
			o.results.Reached(o.addrs.Addr(e.batch.Sender), e.batch.Address)
		}
	}
	o.workers.Flush(o.results.Flush)
	o.crowded.Store(o.workers.IsCrowded())
}

// repeat sends, every heartbeat, what was not answered within one: results, and after
// some heartbeats the workers' requests for tasks.
func (o *owner) repeat() {
	o.workers.Repeat()
	o.results.Repeat()
}

// envelope puts items into a batch.
func (o *owner) envelope(to wire.Ref, items []wire.Item) *wire.Batch {
	return &wire.Batch{
		Sender: o.self, Receiver: to.Daemon(), Address: o.address, Incarnation: o.incarnation, Items: items,
	}
}
