package jetstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// The servers that keep no copy of the leaderships are named, each with its fault: one has switched
// JetStream off, as with a full disk, and later it is down.
func TestFaultsOfServers(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 3)
	o := options(t, c.URL())
	o.Replicas = 3
	store, err := open(t, o).Leadership(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	teller, ok := store.(interface {
		Faults(ctx context.Context) ([]string, error)
	})
	if !ok {
		t.Fatal("the store of leaderships does not tell of its servers")
	}
	shows := func(want string) {
		t.Helper()
		daemontest.Await(t, "the faults are: "+want, func() bool {
			found, err := teller.Faults(t.Context())
			return err == nil && strings.Join(found, "; ") == want
		})
	}
	shows("")
	const full = 1
	if err := c.Servers[full].Server().DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	name := c.Servers[full].Name()
	shows("NATS server " + name + " has switched JetStream off, as it does when its disk is full")
	c.Stop(full)
	shows("NATS server " + name + " is down, or the other servers cannot reach it")
	c.Start(full)
	shows("")
}
