package jetstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// door admits clients while it is open, and tells of those that it refuses.
type door struct {
	shut    atomic.Bool
	refused chan struct{}
}

// Check implements server.Authentication.
func (d *door) Check(server.ClientAuthentication) bool {
	if !d.shut.Load() {
		return true
	}
	d.refused <- struct{}{}
	return false
}

// Servers that refuse a daemon whom they had admitted are tried until they admit it again. At its
// start, a refusal is reported at once.
func TestServersThatRefuseAreTriedAgain(t *testing.T) {
	t.Parallel()
	d := &door{refused: make(chan struct{}, 10_000)}
	s := startAdmitting(t, d)
	o := options(t, s.ClientURL())
	o.SyncAlways = true
	store := open(t, o)
	client, err := store.Conn().GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	d.shut.Store(true)
	if err := s.DisconnectClientByID(client); err != nil {
		t.Fatal(err)
	}
	for range 4 { // the fourth comes after three refusals
		select {
		case <-d.refused:
		case <-time.After(time.Minute):
			t.Fatal("the servers are not tried any more")
		}
	}
	refused(t, openFails(t, o), "nats_credentials")
	d.shut.Store(false)
	await.Until(t, "the store is connected again", store.Conn().IsConnected)
}

// reluctant refuses the first client that asks.
type reluctant struct{ asked atomic.Bool }

// Check implements server.Authentication.
func (r *reluctant) Check(server.ClientAuthentication) bool { return r.asked.Swap(true) }

// A server that refuses a daemon does not end its start, as long as another one may admit it.
func TestOneOfTheServersRefuses(t *testing.T) {
	t.Parallel()
	d := &door{refused: make(chan struct{}, 10_000)}
	d.shut.Store(true)
	o := options(t, startAdmitting(t, d).ClientURL()+","+startAdmitting(t, &reluctant{}).ClientURL())
	o.SyncAlways = true
	open(t, o)
}
