package nodemonitor

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestFormerMaster(t *testing.T) {
	const first, second = 1, 2
	batch := func(process int64, epoch uint64) *event {
		return &event{batch: &wire.Batch{Sender: addrmap.MasterRef(0), Incarnation: process, Epoch: epoch}}
	}
	expect := func(f *formerMaster, e *event, epoch uint64, registered int64, wantHeld, wantDropped bool) {
		t.Helper()
		if held, dropped := f.holds(e, epoch, registered); held != wantHeld || dropped != wantDropped {
			t.Errorf("held %v, dropped %v", held, dropped)
		}
	}
	f := &formerMaster{several: true}
	f.describes(0)
	expect(f, batch(first, 1), 0, 0, false, false) // the first master
	f.accepted(first)
	expect(f, batch(first, 1), 1, first, false, false)

	f.describes(first)
	expect(f, batch(first, 1), 1, first, true, false) // until it is known which master accepts the node
	expect(f, batch(second, 2), 1, first, false, false)
	expect(f, &event{batch: &wire.Batch{Sender: wire.Ref{Role: sched.Distributor, Name: "f"}, Incarnation: first}}, 1, first, false, false)
	if held, dropped := f.accepted(first); len(held) != 1 || len(dropped) != 0 {
		t.Errorf("the same master: %d held, %d dropped", len(held), len(dropped))
	}
	f.describes(first)
	expect(f, batch(first, 1), 1, first, true, false)
	if held, dropped := f.accepted(second); len(held) != 0 || len(dropped) != 1 {
		t.Errorf("another master: %d held, %d dropped", len(held), len(dropped))
	}
	expect(f, batch(first, 1), 2, second, false, true) // late
	expect(f, batch(second, 2), 2, second, false, false)

	one := &formerMaster{}
	one.describes(first)
	expect(one, batch(first, 1), 2, second, false, false)
}
