package addrmap_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A number that was dropped may come to stand for another name.
func TestDrop(t *testing.T) {
	r := addrmap.New()
	a, b := wire.Ref{Role: sched.Worker, Name: "a"}, wire.Ref{Role: sched.Worker, Name: "b", Slot: 3}
	if !r.Set(a, 7) || r.Set(b, 7) {
		t.Error("a number stands for one name at a time")
	}
	r.Drop(a)
	r.Drop(a)
	if _, ok := r.Find(a); ok {
		t.Error("a dropped name is found")
	}
	if _, ok := r.Ref(sched.Addr{Role: sched.Worker, ID: 7}); ok {
		t.Error("a dropped number still stands for a name")
	}
	if !r.Set(b, 7) {
		t.Error("a dropped number cannot be set again")
	}
	if ref, ok := r.Ref(sched.Addr{Role: sched.Worker, ID: 7}); !ok || ref != b {
		t.Errorf("worker 7 is %v", ref)
	}
}
