package server

import "testing"

// A peer with many addresses must not leave one entry behind for each.
func TestRegistryForgetsHostsThatLeft(t *testing.T) {
	r := newRegistry(10, 2, 2)
	a1, a2, a3, b := &conn{host: "a"}, &conn{host: "a"}, &conn{host: "a"}, &conn{host: "b"}
	for _, c := range []*conn{a1, a2, b} {
		if _, why, ok := r.admit(c); !ok {
			t.Fatalf("%s was refused: %v", c.host, why)
		}
	}
	for _, c := range []*conn{a1, a2} {
		r.acquainted(c)
	}
	if _, why, ok := r.admit(a3); ok || why != HostFull {
		t.Errorf("a third of one host: %v, %v", why, ok)
	}
	for _, c := range []*conn{a1, a2, b} {
		r.remove(c)
	}
	if len(r.hosts)+len(r.crowds)+len(r.callers)+r.strangers.Len() != 0 || r.open() != 0 {
		t.Errorf("hosts %v, %v, callers %v, %d strangers and %d connections are left", r.hosts, r.crowds, r.callers, r.strangers.Len(), r.open())
	}
	r.each(func(*conn) {})
	if _, why, ok := r.admit(a1); ok || why != Finished {
		t.Errorf("admitted while stopping: %v, %v", why, ok)
	}
}
