package replica

import (
	"context"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// watchedStores is a connection that calls reads before each read of an object, and returns its error.
type watchedStores struct {
	jetstream.JetStream
	reads func() error
}

func (w watchedStores) ObjectStore(ctx context.Context, name string) (jetstream.ObjectStore, error) {
	b, err := w.JetStream.ObjectStore(ctx, name)
	return watchedStore{b, w.reads}, err
}

type watchedStore struct {
	jetstream.ObjectStore
	reads func() error
}

func (w watchedStore) Get(ctx context.Context, name string, o ...jetstream.GetObjectOpt) (jetstream.ObjectResult, error) {
	if err := w.reads(); err != nil {
		return nil, err
	}
	return w.ObjectStore.Get(ctx, name, o...)
}

// purged returns a store that leads and whose stream begins after a snapshot.
func purged(t *testing.T, js jetstream.JetStream) *Store {
	t.Helper()
	a := lead(t, options(t, js))
	must(t, a.Append(set("k", "1"), true))
	must(t, a.snapshot(t.Context()))
	return a
}

// A process on another host that is about to read a snapshot, in place of which the leader then has
// made the next one, reads that.
func TestASnapshotIsReplacedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	a := purged(t, js)
	reads := 0
	o := options(t, watchedStores{js, func() error {
		if reads++; reads == 1 {
			must(t, a.Append(set("k", "2"), true))
			must(t, a.snapshot(t.Context()))
		}
		return nil
	}})
	equal(t, open(t, o), map[string]string{"k": "2"})
}

// A snapshot that servers did not deliver once is no missing one.
func TestServersThatAreBusyDeliverASnapshotLater(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	purged(t, js)
	reads := 0
	o := options(t, watchedStores{js, func() error {
		if reads++; reads == 1 {
			return nats.ErrTimeout
		}
		return nil
	}})
	equal(t, open(t, o), map[string]string{"k": "1"})
}

// A takeover has no deadline, and the time that the client library then gives a call does not bound
// the reading of a snapshot.
func TestATakeoverReadsASnapshotOfAnySize(t *testing.T) {
	t.Parallel()
	s := serve(t, &server.Options{})
	js := connect(t, s)
	a := lead(t, options(t, js))
	short, err := jetstream.New(js.Conn(), jetstream.WithDefaultTimeout(1))
	must(t, err)
	b := open(t, options(t, short))
	must(t, a.Append(set("k", "1"), true))
	must(t, a.snapshot(t.Context()))
	must(t, b.Lead(context.Background(), 0, func(err error) { t.Errorf("the store broke: %v", err) }))
	equal(t, b, map[string]string{"k": "1"})
}
