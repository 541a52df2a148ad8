package nodemonitor

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// event is one entry of the owner's inbox.
type event struct {
	kind   eventKind
	worker *worker        // ended
	result backend.Result // ended
	batch  *wire.Batch    // delivered, acknowledged
	at     time.Time      // delivered: when it came
	do     func()         // called: anything rare
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
	seed        uint64
	rules       rules
	clock       runloop.Clock
	addrs       *addrmap.Map
	urge        func(event)
	steps       *runloop.Stepper
	timers      *runloop.Timers
	backends    map[api.Backend]backend.Backend
	toLink      sender    // to the master by Thrift, in order
	links       links     // to frontends and other nodes; nil where workers do not speak to them
	notices     publisher // nil without NATS
	results     *results.Reporter
	changed     func() // has a snapshot sent at once
	meter       *meter
	spans       *spans
	roll        *roll       // who else there is, where workers speak to others
	crowded     atomic.Bool // no room for more work; read when batches come in

	now       sched.Time // of the batch being handled
	workers   []*worker  // by number on this node; nil where a backend's is gone
	gaps      bool       // some are nil
	bySelf    map[sched.Addr]*worker
	stepping  *worker                      // whose core's actions are carried out
	serves    []string                     // by the node's own slots; replaced, never changed
	runs      map[sched.AttemptID]*attempt // started, by their workers' cores
	attempts  int                          // at all workers
	spare     []*attempt                   // to be used again
	idles     []wire.Item                  // to publish after the batch
	forMaster []wire.Item                  // to send by Thrift after the batch, in order
	local     []local                      // to step after the batch
	message   sched.Message                // being stepped
	epoch     uint64                       // highest seen of a master of this group
	epochOf   int64                        // the incarnation of that master
	full      bool                         // results have no room: launches were refused
	stopping  bool
}

// handle is the owner goroutine's work: everything that came since the last time.
func (o *owner) handle(batch []event) {
	o.now = o.clock.Now()
	for i := range batch {
		e := &batch[i]
		switch e.kind {
		case called:
			e.do()
		case delivered:
			o.delivered(e.batch, e.at)
		case ended:
			o.ended(e.worker, &e.result)
		case acknowledged:
			o.results.Acknowledge(e.batch.Acknowledged)
			o.results.Reached(o.addrs.Addr(e.batch.Sender), e.batch.Address)
		}
	}
	o.flush()
}

// repeat sends, every heartbeat, what was not answered within one: results, and after
// some heartbeats the workers' requests for tasks.
func (o *owner) repeat() {
	o.release()
	o.askAgain()
	o.results.Repeat()
}
