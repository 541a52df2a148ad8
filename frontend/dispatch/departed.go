package dispatch

import (
	"sync"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// mostDeparted bounds the departures of nodes that are kept of one group, and those of
// frontends: as many as its master keeps.
const mostDeparted = 1000

// departures is a copy of what the master of one group has recorded about daemons that have
// departed. A master has its record in memory only; the frontends pass their copies to the
// next one of the group. It is safe for concurrent use.
type departures struct {
	now func() sched.Time

	mu   sync.Mutex
	list *protocol.Departures
	// of is the incarnation of the master that answered last, heard the last of its changes
	// that was applied, and told the last of this copy's changes that it knows. The hello
	// that is under way names those up to telling.
	of                   int64
	heard, told, telling int64
}

func newDepartures(incarnation int64, now func() sched.Time) *departures {
	return &departures{now: now, list: protocol.NewDepartures(incarnation, mostDeparted)}
}

// addTo adds to a hello what the master may not know, and what this frontend has heard.
func (d *departures) addTo(h *wire.Hello) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []protocol.Departure
	list, d.telling = d.list.Changes(d.told, wire.MaxDepartures)
	h.Departed = wire.DeparturesAt(list, d.now())
	h.Departures, h.DeparturesOf = d.heard, d.of
}

// accepted applies the answer of a master that has accepted the hello. Another process than
// before is told everything with the next hellos.
func (d *departures) accepted(r *wire.HelloReply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = d.telling
	upToDate := d.told == d.list.Last()
	now := d.now()
	for i := range r.Departed {
		d.list.Merge(r.Departed[i].At(now), false, now)
	}
	switch {
	case d.of != 0 && d.of != r.Incarnation:
		d.told = 0
	case upToDate:
		d.told = d.list.Last() // the master need not hear what it has reported
	}
	d.of, d.heard = r.Incarnation, r.Departures
}

// nodes returns the nodes that have departed, for users.
func (d *departures) nodes(group int) (list []api.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for _, x := range d.list.All(sched.Worker) {
		list = append(list, membership.DepartedNode(&x, group, now))
	}
	return list
}

// lost records a node that its master does not know: it was there under an earlier master, and
// has not registered with the present one.
func (d *departures) lost(n *wire.MemberNode, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	d.list.Record(protocol.Departure{Role: sched.Worker, Name: n.Name, Address: n.Address, State: api.StateLost, Reason: reason, Since: now}, now)
}
