package addrmap_test

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Masters are numbered by their group, everywhere; a name that is no group
// has no number.
func TestMastersAreGroups(t *testing.T) {
	r := addrmap.New()
	for name, want := range map[string]sched.Addr{
		"0": {Role: sched.Master}, "7": {Role: sched.Master, ID: 7}, "32767": {Role: sched.Master, ID: 32767},
		"32768": {}, "-1": {}, "": {}, "x": {}, "1.5": {},
	} {
		if got := r.Addr(wire.Ref{Role: sched.Master, Name: name}); got != want {
			t.Errorf("master %q is %v, want %v", name, got, want)
		}
	}
	if ref, ok := r.Ref(sched.Addr{Role: sched.Master, ID: 12}); !ok || ref != addrmap.MasterRef(12) {
		t.Errorf("master 12 is %v, %v", ref, ok)
	}
}

func TestNobody(t *testing.T) {
	r := addrmap.New()
	for _, a := range []sched.Addr{{Role: sched.Worker}, {Role: sched.Distributor, ID: -1}, {Role: sched.Distributor, ID: sched.Everyone}, {Role: sched.Worker, ID: 1 << 30}} {
		if ref, ok := r.Ref(a); ok {
			t.Errorf("%v is %v", a, ref)
		}
	}
}

// Against the obvious: a list of every name that was ever given a number.
func TestAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := addrmap.New()
		given := map[sched.Role][]wire.Ref{}
		now := map[wire.Ref]int{}
		t.Repeat(map[string]func(*rapid.T){
			"address": func(t *rapid.T) {
				ref := someRef(t)
				renew := rapid.Bool().Draw(t, "renew")
				if _, known := now[ref]; !known || renew {
					now[ref] = len(given[ref.Role])
					given[ref.Role] = append(given[ref.Role], ref)
				}
				ask := r.Addr
				if renew {
					ask = r.Renew
				}
				if got := ask(ref); got != (sched.Addr{Role: ref.Role, ID: int32(now[ref])}) { //nolint:gosec // few
					t.Fatalf("%v is %v, want %d", ref, got, now[ref])
				}
			},
			"": func(t *rapid.T) {
				for role, list := range given {
					for id, want := range list {
						if got, ok := r.Ref(sched.Addr{Role: role, ID: int32(id)}); !ok || got != want { //nolint:gosec // few
							t.Fatalf("%v %d is %v, want %v", role, id, got, want)
						}
					}
				}
			},
		})
	})
}

func someRef(t *rapid.T) wire.Ref {
	return wire.Ref{
		Role: rapid.SampledFrom([]sched.Role{sched.Distributor, sched.Worker}).Draw(t, "role"),
		Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), Slot: rapid.Int32Range(0, 2).Draw(t, "slot"),
	}
}

// Beyond the limit a new name has no address; the known ones stay.
func TestLimit(t *testing.T) {
	r := addrmap.New()
	first := wire.Ref{Role: sched.Worker, Name: "n"}
	if !r.Set(first, 0) || !r.Set(wire.Ref{Role: sched.Worker, Name: "last"}, addrmap.Limit-1) {
		t.Fatal("the first or the last number cannot be set")
	}
	if got := r.Addr(wire.Ref{Role: sched.Worker, Name: "one more"}); got != (sched.Addr{}) {
		t.Errorf("a name beyond the limit is %v", got)
	}
	if got := r.Renew(first); got != (sched.Addr{}) {
		t.Errorf("a new number beyond the limit is %v", got)
	}
	if got := r.Addr(first); got != (sched.Addr{Role: sched.Worker}) {
		t.Errorf("the first name is %v", got)
	}
	if got := r.Addr(wire.Ref{Role: sched.Distributor, Name: "f"}); got != (sched.Addr{Role: sched.Distributor}) {
		t.Errorf("another role is %v", got)
	}
}

// All goroutines agree on the numbers.
func TestConcurrently(t *testing.T) {
	r := addrmap.New()
	got := make([][100]sched.Addr, 8)
	var all sync.WaitGroup
	for g := range got {
		all.Go(func() {
			for i := range got[g] {
				k := (i + 13*g) % 100
				got[g][k] = r.Addr(wire.Ref{Role: sched.Worker, Name: fmt.Sprint(k)})
				if ref, ok := r.Ref(got[g][k]); !ok || ref.Name != fmt.Sprint(k) {
					t.Errorf("%v is %v", got[g][k], ref)
				}
			}
		})
	}
	all.Wait()
	for g := range got {
		if got[g] != got[0] {
			t.Errorf("goroutine %d got other numbers", g)
		}
	}
}
