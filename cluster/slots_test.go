package cluster

import "testing"

// A node of a cluster may have as many slots as any node, each of which may run a process.
func TestManySlots(t *testing.T) {
	t.Parallel()
	s := &Spec{Groups: []int{1}, Slots: 10_000}
	c := s.node(places{dir: t.TempDir(), masters: []string{"127.0.0.1:1"}}, 0, 0, "127.0.0.1")
	if err := c.Validate(); err != nil || c.MaxProcesses < c.Slots {
		t.Errorf("%d slots and %d processes: %v", c.Slots, c.MaxProcesses, err)
	}
}
