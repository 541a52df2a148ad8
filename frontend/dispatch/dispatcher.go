package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Jobs provides what messages to masters and workers contain of the jobs. It is called by
// the owner goroutine.
type Jobs interface {
	// Persist is called for each record of the core, in order.
	Persist(m *sched.Message)
	// Payloads returns the payloads of count tasks of a message, from its First on, and what
	// else is sent with them.
	Payloads(m *sched.Message, count int32) wire.Extra
	// Owner returns the owner of a job and its priority.
	Owner(job sched.JobID) (owner string, priority int32)
	// Launching is called for each task that is launched at a worker without a master,
	// and returns the trace context of its attempt.
	Launching(m *sched.Message, at wire.Ref) api.Trace
	// Name returns the user's name of a job.
	Name(job sched.JobID) string
}

// Options of a Dispatcher.
type Options struct {
	Self       wire.Ref
	Policy     sched.Policy
	Core       sched.DistributorCore // of the policy
	Masters    []string              // host:port, by group; several of one group as package leaders reads them
	MasterLost time.Duration         // how long a master may not answer before it counts as lost
	// ReprobeAfter is how long a worker may take to request a task of a stale job, the
	// first time: ReprobeAfter, shorter in tests.
	ReprobeAfter time.Duration
	// DoubtFor is how long after a change of the membership the reservations of new jobs
	// count as stale: DoubtFor, none in some tests.
	DoubtFor time.Duration

	Addrs    *addrmap.Map
	Clock    runloop.Clock
	Codec    *wire.Codec
	Recorder *runloop.Recorder // nil when nothing is recorded
	Log      *slog.Logger
	Metrics  *Metrics

	Life    *daemon.Lifecycle     // of the frontend, and ready when the masters were announced to the core
	Loop    *runloop.Loop[func()] // of the owner goroutine
	Unknown *daemon.KindRefusals  // of messages that a peer's version does not know
	Events  *events.Ring
	// Closed, if set, returns why no daemon may be called now: this frontend does not lead.
	Closed func() error
	Jobs   Jobs
}

// Dispatcher is the distributor core with its links. Unless documented otherwise, its
// methods belong to the owner goroutine. New creates it and Open opens its links; the
// caller must call Close.
type Dispatcher struct {
	*core
	*queries
	*explanations
	masters      *masters
	peers        *peers
	reservations *reservations
	follower     *membership.Follower // of the first master
}

// New returns a dispatcher without links: messages of its core are dropped.
func New(o Options) (*Dispatcher, error) {
	c := newCore(o)
	d := &Dispatcher{core: c, reservations: newReservations(c), peers: newPeers(c)}
	d.masters = &masters{core: c, peers: d.peers}
	d.queries = &queries{d.masters}
	d.explanations = &explanations{core: c, peers: d.peers, reservations: d.reservations}
	c.steps = runloop.NewStepper((&actions{c, d.masters, d.peers, d.reservations}).act, o.Recorder)
	if err := d.masters.connect(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.follower = d.newFollower()
	return d, nil
}

// Open opens the links of this process.
func (d *Dispatcher) Open(p Process) error {
	d.process = p
	d.peers.openLinks()
	return d.masters.openLinks()
}

// Close closes the links. Queued messages are lost.
func (d *Dispatcher) Close() error {
	return errors.Join(d.masters.closeLinks(), d.peers.close(), d.masters.close())
}

// Run sends hellos to the masters and follows the membership, where the policy has one,
// until ctx is done. It must not be called on the owner goroutine.
func (d *Dispatcher) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, m := range d.masters.list {
		all.Go(func() { m.heartbeat.Run(ctx) })
	}
	if d.opts.Policy.SingleMaster() {
		all.Go(func() { d.follower.Run(ctx) })
	}
	announce := time.AfterFunc(mastersWait, func() { d.post(d.masters.announce) })
	<-ctx.Done()
	announce.Stop()
	all.Wait()
}

// Leads is called with the hello of a master that leads its group now. It may be called from
// anywhere.
func (d *Dispatcher) Leads(h *wire.Hello) { d.masters.leads(h) }

// leaveTimeout is how long a frontend that stops waits for masters to take notice.
const leaveTimeout = 200 * time.Millisecond

// Leave tells all masters that this frontend stops in an orderly way. It is called when Run has
// ended.
func (d *Dispatcher) Leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	query(ctx, d.masters, func(ctx context.Context, m *master) error {
		_, err := m.peer.Current().Hello(ctx, &wire.Hello{
			Sender: d.opts.Self, Incarnation: d.masters.process.Incarnation, Address: d.masters.process.Internal, Group: m.group, Version: daemon.Version(), Features: daemon.Features(), Stopping: true,
		})
		return err // a master that does not know that this frontend stops notices it later
	})
}

// Flush sends the messages that were queued during a batch of the owner goroutine.
func (d *Dispatcher) Flush() {
	d.masters.flush()
	d.peers.links.Flush()
}
