package master

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
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

// picture is one look at the group.
type picture struct {
	sched.GroupTotals
	epoch      uint64
	nodes      int
	neighbours int
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
	e.picture.Store(&picture{GroupTotals: sched.GroupTotals{Oldest: [sched.NumClasses]sched.Time{sched.Unknown, sched.Unknown}}})
	for c, name := range classes {
		m.GaugeFunc("queued_tasks_"+name, "Tasks of the class that wait.", func() float64 { return float64(e.picture.Load().Queued[c]) })
		m.GaugeFunc("oldest_wait_seconds_"+name, "How long the first waiting task of the class has waited.", func() float64 {
			if since := e.picture.Load().Oldest[c]; since != sched.Unknown {
				return (now() - since).Seconds()
			}
			return 0
		})
	}
	for k, name := range []string{"general", "reserved"} {
		m.GaugeFunc("idle_workers_"+name, "Idle workers of the kind.", func() float64 { return float64(max(0, e.picture.Load().Idle[k])) })
		m.GaugeFunc("busy_workers_"+name, "Busy workers of the kind.", func() float64 {
			p := e.picture.Load()
			return float64(p.Workers[k] - max(0, p.Idle[k]))
		})
	}
	m.GaugeFunc("epoch", "Epoch this master works under.", func() float64 { return float64(e.picture.Load().epoch) })
	m.GaugeFunc("nodes", "Nodes that are registered.", func() float64 { return float64(e.picture.Load().nodes) })
	m.GaugeFunc("neighbours", "Masters of other groups that can be reached, where groups help each other.", func() float64 { return float64(e.picture.Load().neighbours) })
	m.CounterFunc("attempts_lost_total", "Attempts whose worker went away.", func() float64 { return float64(e.picture.Load().Lost) })
	m.CounterFunc("launches_refused_total", "Launches that a slot refused.", func() float64 { return float64(e.picture.Load().Refused) })
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
	p := &picture{GroupTotals: o.view.Totals(), epoch: o.epoch, nodes: len(o.nodes)}
	for _, b := range o.neighbours {
		if b.up {
			p.neighbours++
		}
	}
	e.picture.Store(p)
}

// state is the picture of now, for status and explain.
func (o *owner) state() api.MasterState {
	t := o.view.Totals()
	s := api.MasterState{
		Group: o.cfg.Group, Epoch: o.epoch, QueuedShort: t.Queued[sched.Short], QueuedLong: t.Queued[sched.Long],
		OldestShort: o.waited(t.Oldest[sched.Short]), OldestLong: o.waited(t.Oldest[sched.Long]),
		Launches: t.Launches, Lost: t.Lost, RefusedLaunch: t.Refused, Nodes: []api.Node{},
	}
	var idle, workers [sched.NumWorkerKinds]int
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		s.Nodes = append(s.Nodes, o.shown(o.nodes[name], &idle, &workers))
	}
	for k := range idle {
		if t.Idle[k] != sched.Unknown {
			idle[k] = t.Idle[k] * o.rules.cores
		}
	}
	s.IdleGeneral, s.IdleReserved = idle[sched.General], idle[sched.Reserved]
	s.Workers = workers[sched.General] + workers[sched.Reserved]
	s.BusyGeneral, s.BusyReserved = workers[sched.General]-s.IdleGeneral, workers[sched.Reserved]-s.IdleReserved
	return s
}

// shown is one node. Where workers get tasks from others than this master, what the
// node told last counts. A worker of several slots may be busy in some, and hold more
// attempts than it has slots.
func (o *owner) shown(n *node, idle, workers *[sched.NumWorkerKinds]int) api.Node {
	v := api.Node{ID: n.id, Group: o.cfg.Group, Address: n.address, Up: n.up}
	for _, slot := range sortedSlots(n.slots) {
		w := o.view.WorkerView(n.slots[slot].worker)
		if w.Tasks == sched.Unknown {
			w.Tasks = n.slots[slot].busy
		}
		kind, busy := sched.General, min(w.Tasks, o.rules.cores)
		if w.Reserved {
			kind = sched.Reserved
			v.Reserved += o.rules.cores
		}
		v.Slots += o.rules.cores
		v.Busy += busy
		workers[kind] += o.rules.cores
		idle[kind] += o.rules.cores - busy
		v.Apps = n.servesNow(slot)
	}
	return v
}

// waited returns how long something has waited since an instant, seconds; 0 when
// nothing waits.
func (o *owner) waited(since sched.Time) float64 {
	if since == sched.Unknown {
		return 0
	}
	return (o.clock.Now() - since).Seconds()
}
