package addrmap_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Numbers that are assigned elsewhere, against a table: a number stands for the
// first name that got it, a name has the last number that it got, and no name is
// numbered by appearance.
func TestSetAgainstATable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := addrmap.NewNumbered()
		names := map[int32]wire.Ref{}
		numbers := map[wire.Ref]int32{}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				ref, id := someWorker(t), rapid.Int32Range(0, 9).Draw(t, "id")
				old, taken := names[id]
				want := !taken || old == ref
				if got := r.Set(ref, id); got != want {
					t.Fatalf("number %d for %v: %v, want %v", id, ref, got, want)
				}
				if want {
					names[id], numbers[ref] = ref, id
				}
			},
			"drop": func(t *rapid.T) {
				ref := someWorker(t)
				if id, known := numbers[ref]; known {
					delete(names, id)
					delete(numbers, ref)
				}
				r.Drop(ref)
			},
			"": func(t *rapid.T) {
				ref := someWorker(t)
				id, known := numbers[ref]
				if a, ok := r.Find(ref); ok != known || (ok && a != sched.Addr{Role: sched.Worker, ID: id}) {
					t.Fatalf("%v is found as %v, %v, want %d", ref, a, ok, id)
				}
				if a := r.Addr(ref); (a != sched.Addr{}) != known {
					t.Fatalf("%v without a number is %v", ref, a)
				}
				if r.Renew(wire.Ref{Role: sched.Worker, Name: "new"}) != (sched.Addr{}) {
					t.Fatal("a new name was numbered by appearance")
				}
				for id := range int32(11) {
					if ref, ok := r.Ref(sched.Addr{Role: sched.Worker, ID: id}); ok != (names[id] != wire.Ref{}) || ref != names[id] {
						t.Fatalf("number %d is %v, want %v", id, ref, names[id])
					}
				}
			},
		})
	})
}

func someWorker(t *rapid.T) wire.Ref {
	return wire.Ref{Role: sched.Worker, Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), Slot: rapid.Int32Range(0, 1).Draw(t, "slot")}
}
