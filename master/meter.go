package master

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// meter counts what the owner does and keeps a picture of the queues that other
// goroutines may read.
type meter struct {
	metrics  *telemetry.Metrics
	launches []prometheus.Counter  // by class
	waits    []prometheus.Observer // by class, seconds from arrival to launch
	notices  prometheus.Counter
	stale    prometheus.Counter
	garbled  prometheus.Counter
	picture  atomic.Pointer[picture]
	drawn    time.Time // of the picture; the owner's
}

// picture is one look at the queues.
type picture struct {
	queued  [sched.NumClasses]int
	oldest  [sched.NumClasses]sched.Time // instant of queueing; -1 for none
	idle    [queue.NumKinds]int
	workers [queue.NumKinds]int
	epoch   uint64
	lost    uint64
	refused uint64
}

// redraw is how old a picture may be while the owner is busy.
const redraw = 20 * time.Millisecond

func newMeter(now func() sched.Time) *meter {
	m := telemetry.NewMetrics("master")
	classes := []string{sched.Short.String(), sched.Long.String()}
	e := &meter{
		metrics:  m,
		launches: m.Counters("launches_total", "Tasks launched at workers.", "class", classes...),
		waits:    m.Latencies("queued_seconds", "Time from a task's arrival at the master to its launch.", "class", classes...),
		notices:  m.Counter("idle_notices_total", "Idle notices taken, from NATS and Thrift."),
		stale:    m.Counter("stale_batches_total", "Batches and notices of peers that were lost, restarted or not registered, ignored."),
		garbled:  m.Counter("garbled_notices_total", "Notices that could not be read."),
	}
	e.picture.Store(&picture{oldest: [sched.NumClasses]sched.Time{-1, -1}})
	for c, name := range classes {
		m.GaugeFunc("queued_tasks_"+name, "Tasks of the class that wait.", func() float64 { return float64(e.picture.Load().queued[c]) })
		m.GaugeFunc("oldest_wait_seconds_"+name, "How long the first waiting task of the class has waited.", func() float64 {
			if since := e.picture.Load().oldest[c]; since >= 0 {
				return (now() - since).Seconds()
			}
			return 0
		})
	}
	for k, name := range []string{"general", "reserved"} {
		m.GaugeFunc("idle_workers_"+name, "Idle workers of the kind.", func() float64 { return float64(e.picture.Load().idle[k]) })
		m.GaugeFunc("busy_workers_"+name, "Busy workers of the kind.", func() float64 {
			p := e.picture.Load()
			return float64(p.workers[k] - p.idle[k])
		})
	}
	m.GaugeFunc("epoch", "Epoch this master works under.", func() float64 { return float64(e.picture.Load().epoch) })
	m.CounterFunc("attempts_lost_total", "Attempts whose worker went away.", func() float64 { return float64(e.picture.Load().lost) })
	m.CounterFunc("launches_refused_total", "Launches that a slot refused.", func() float64 { return float64(e.picture.Load().refused) })
	return e
}

func (e *meter) launched(c sched.Class, arrived time.Time) {
	e.launches[c].Inc()
	if !arrived.IsZero() {
		e.waits[c].Observe(time.Since(arrived).Seconds())
	}
}

func (e *meter) notice(k sched.Kind) {
	if k == sched.Idle {
		e.notices.Inc()
	}
}

// publish draws a new picture when the last is old enough. An owner that falls
// idle is woken by its sweep, so the picture is never older than a sweep.
func (e *meter) publish(o *owner) {
	if time.Since(e.drawn) < redraw {
		return
	}
	e.drawn = time.Now()
	x := o.core.Index()
	p := &picture{epoch: o.core.Epoch()}
	for c := range p.queued {
		p.queued[c] = x.Queued(sched.Class(c))
		p.oldest[c] = -1
		if since, waits := x.Oldest(sched.Class(c)); waits {
			p.oldest[c] = since
		}
	}
	for k := range p.idle {
		p.idle[k], p.workers[k] = x.Idle(queue.Kind(k)), o.core.Workers(queue.Kind(k))
	}
	counts := o.core.Counts()
	p.lost, p.refused = counts.Lost, counts.Refused
	e.picture.Store(p)
}

// state is the picture of now, for status and explain.
func (o *owner) state() api.MasterState {
	x, counts := o.core.Index(), o.core.Counts()
	s := api.MasterState{
		Group: o.cfg.Group, Epoch: o.core.Epoch(),
		QueuedShort: x.Queued(sched.Short), QueuedLong: x.Queued(sched.Long),
		OldestShort: o.oldest(sched.Short), OldestLong: o.oldest(sched.Long),
		IdleGeneral: x.Idle(queue.General), IdleReserved: x.Idle(queue.Reserved),
		Launches: counts.Launches, Lost: counts.Lost, RefusedLaunch: counts.Refused, Nodes: []api.Node{},
	}
	general, reserved := o.core.Workers(queue.General), o.core.Workers(queue.Reserved)
	s.Workers = general + reserved
	s.BusyGeneral, s.BusyReserved = general-s.IdleGeneral, reserved-s.IdleReserved
	for _, v := range o.core.Nodes() {
		n := api.Node{ID: v.ID, Group: o.cfg.Group, Slots: v.Slots, Reserved: v.Reserved, Busy: v.Busy, Apps: v.Apps}
		if known := o.nodes[v.ID]; known != nil {
			n.Address, n.Up = known.address, known.up
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// oldest gives how long the first waiting task of the class has waited, seconds.
func (o *owner) oldest(c sched.Class) float64 {
	since, waits := o.core.Index().Oldest(c)
	if !waits {
		return 0
	}
	return (o.clock.Now() - since).Seconds()
}
