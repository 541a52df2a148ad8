package frontend

import (
	"log/slog"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// owner is everything that only the owner goroutine touches.
type owner struct {
	cfg          Config
	log          *slog.Logger
	self         wire.Ref
	addr         sched.Addr
	incarnation  int64
	plan         plan
	core         sched.DistributorCore
	steps        *runloop.Stepper
	clock        runloop.Clock
	timers       *runloop.Timers
	addrs        *addrmap.Map
	journal      *journal.Journal
	urge         func(...func()) error
	fail         func(error) // ends the daemon
	ready        func()      // called when masters were given to the core for the first time
	internal     string      // where this frontend serves other daemons
	scheduler    string      // where it serves applications
	jobs         map[sched.JobID]*job
	ended        endedJobs
	masters      []*master // by group; the slice never changes
	peers        peers     // nobody where the membership is not followed
	nodes        *nodeNames
	dirty        []*master // with items to send after the batch
	batch        batchResult
	writing      *batchResult // the last that is on its way to the disk, nil when none is
	current      *wire.Item   // the report being stepped
	reporter     string       // the node it came from
	listeners    *listeners.Listeners
	acker        *acker
	meter        *meter
	spans        *spans
	history      *history // nil when none is written
	grantEnded   func(app, level, key string, missed bool)
	spent        []sched.JobID // jobs of grants that have ended in this batch
	mastersKnown bool          // the masters were announced to the core
}

// batchResult is what one batch of inputs wants done once its records are on
// the disk.
type batchResult struct {
	records []journal.Record
	life    []lifeEvent
	acks    map[string][]sched.AttemptID // by node
	ended   []*job
	ends    []taskEnd
	replies []func(error) // answers to Reports calls
	after   []batchResult // that came later and had nothing to write
}

func (b *batchResult) acknowledge(node string, id sched.AttemptID) {
	if b.acks == nil {
		b.acks = map[string][]sched.AttemptID{}
	}
	b.acks[node] = append(b.acks[node], id)
}

// taskEnd is the end of a task of a built-in backend, a message to its application.
type taskEnd struct {
	app string
	listeners.Message
}

// step gives the core a message.
func (o *owner) step(from sched.Addr, m *sched.Message) {
	o.steps.Step(o.core, o.addr, o.clock.Now(), from, m)
}

// stepShell gives the core what only its shell can know.
func (o *owner) stepShell(m *sched.Message) { o.step(sched.Addr{}, m) }

// act carries out one action of the core.
func (o *owner) act(self sched.Addr, a *sched.Action) {
	switch a.Kind {
	case sched.Send:
		o.send(a)
	case sched.Timer:
		o.timers.Set(self, a.At, a.Token)
	case sched.Persist:
		o.persist(&a.Msg)
	}
}
