package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// What a master reports is passed to the next process of it, in as many hellos as it takes, and once;
// a hello that is not answered is repeated.
func TestDeparturesArePassedOn(t *testing.T) {
	now := sched.Time(time.Hour)
	d := newDepartures(9, func() sched.Time { return now })
	hello := func() *wire.Hello {
		h := &wire.Hello{}
		d.addTo(h)
		return h
	}
	names := func(h *wire.Hello) (list []string) {
		for _, x := range h.Departed {
			list = append(list, x.Daemon.Name)
		}
		slices.Sort(list)
		return list
	}
	first := &wire.HelloReply{Incarnation: 1, Departures: 7}
	var want []string
	for i := range wire.MaxDepartures {
		want = append(want, fmt.Sprintf("n%04d", i))
		first.Departed = append(first.Departed, wire.Departure{Daemon: nodeRef(want[i]), State: api.StateLost, Age: time.Duration(i) * time.Second, Changed: time.Duration(i) * time.Second})
	}
	if h := hello(); h.DeparturesOf != 0 || len(h.Departed) != 0 {
		t.Errorf("the first hello is %+v", h)
	}
	d.accepted(first)
	d.lost(&wire.MemberNode{Name: "zz"}, "it did not return")
	want = append(want, "zz")
	if h := hello(); h.Departures != 7 || h.DeparturesOf != 1 || !slices.Equal(names(h), []string{"zz"}) {
		t.Errorf("the second hello names %q, and has heard of change %d of %d", names(h), h.Departures, h.DeparturesOf)
	}
	d.accepted(&wire.HelloReply{Incarnation: 1, Departures: 8})
	if h := hello(); h.Departures != 8 || len(h.Departed) != 0 {
		t.Errorf("a master that knows all is told %q", names(h))
	}

	now += sched.Time(time.Minute)
	d.accepted(&wire.HelloReply{Incarnation: 2, Departures: 0})
	one, repeated := hello(), hello() // the first of these is not answered
	if len(one.Departed) != wire.MaxDepartures || !slices.Equal(names(one), names(repeated)) {
		t.Errorf("the next process is told %d departures, and after a hello without an answer %d", len(one.Departed), len(repeated.Departed))
	}
	if age := one.Departed[0].Age; age < time.Minute {
		t.Errorf("the first of them is %v old", age)
	}
	d.accepted(&wire.HelloReply{Incarnation: 2, Departures: 0})
	two := hello()
	got := append(names(repeated), names(two)...)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%d departures were passed on in two hellos, want %d", len(got), len(want))
	}
	d.accepted(&wire.HelloReply{Incarnation: 2, Departures: 0})
	if h := hello(); len(h.Departed) != 0 {
		t.Errorf("the next process is told %q again", names(h))
	}
}
