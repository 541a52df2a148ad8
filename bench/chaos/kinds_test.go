package chaos

import "testing"

// TestKindsAreWhole: each kind of fault has a name of its own and is carried out.
func TestKindsAreWhole(t *testing.T) {
	named := map[string]bool{}
	for i, k := range kinds {
		if k.name == "" || named[k.name] || k.inject == nil {
			t.Errorf("number %d of the kinds of faults is %q: it has no name, the name of another one, or no method that carries it out", i, k.name)
		}
		named[k.name] = true
	}
}

// TestNeedsOfKinds: what a kind needs does not depend on its place among the others.
func TestNeedsOfKinds(t *testing.T) {
	old := kinds
	t.Cleanup(func() { kinds = old })
	kinds = append([]kind{{name: "first"}}, kinds...)
	for name, want := range map[string]struct{ network, standbys bool }{"full-disk": {network: true}, "machine": {standbys: true}, "leader-cut": {network: true, standbys: true}, "first": {}, "unknown": {}} {
		if NeedsNetwork(name) != want.network || NeedsStandbys(name) != want.standbys {
			t.Errorf("%s needs the network: %v, standbys: %v; want %+v", name, NeedsNetwork(name), NeedsStandbys(name), want)
		}
	}
}
