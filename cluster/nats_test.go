package cluster_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// TestThreeNATSServers: with three servers jobs complete while one of them is gone, and it
// comes back without its disk.
func TestThreeNATSServers(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{1}, Slots: 2, Isolation: cluster.Process, NATSServers: 3})
	s := scheduler(t, c.Frontends()[0])
	run := func(key string) {
		t.Helper()
		task := api.Task{Payload: api.Payload{Backend: api.BackendSleep}}
		if _, _, err := s.Submit(t.Context(), &api.Request{Key: key, Backend: api.BackendSleep, Tasks: []api.Task{task}}); err != nil {
			t.Fatal(err)
		}
		if got := endOf(t, s, key); got.State != api.StateCompleted {
			t.Errorf("%s: %+v", key, got)
		}
	}
	run("with three")
	if err := c.Lose(cluster.NATS, 1); err != nil {
		t.Fatal(err)
	}
	run("with two")
	if err := c.Restart(cluster.NATS, 1); err != nil {
		t.Fatal(err)
	}
	run("with three again")
}

// TestStandbysRefused: standbys need what keeps their leadership.
func TestStandbysRefused(t *testing.T) {
	for name, spec := range map[string]cluster.Spec{
		"two servers":         {Groups: []int{1}, Isolation: cluster.Process, NATSServers: 2},
		"one server":          {Groups: []int{1}, Isolation: cluster.Process, MasterStandbys: 1},
		"no server":           {Groups: []int{1}, Isolation: cluster.Process, FrontendStandbys: true},
		"one process":         {Groups: []int{1}, NATSServers: 3, MasterStandbys: 1},
		"too many":            {Groups: []int{1}, Isolation: cluster.Process, NATSServers: 3, MasterStandbys: 5},
		"fewer than none":     {Groups: []int{1}, Isolation: cluster.Process, NATSServers: 3, MasterStandbys: -1},
		"several in a single": {Groups: []int{1}, NATSServers: 3},
		"several of none":     {Groups: []int{1}, Isolation: cluster.Process, NATSServers: 3, WithoutNATS: true},
		"none at all":         {Groups: []int{1}, Isolation: cluster.Process, WithoutNATS: true, MasterStandbys: 1},
	} {
		if c, err := cluster.Start(t.Context(), spec); err == nil {
			t.Errorf("%s: it was started", name)
			_ = c.Close() // the test has failed
		}
	}
}
