package jetstore_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

func TestMain(m *testing.M) { natsservertest.Main(m) }

func options(t *testing.T, url string) jetstore.Options {
	return jetstore.Options{Access: notice.Access{URL: url}, Name: "the test", Cluster: "a.b", Replicas: 1, Log: daemontest.Log(t)}
}

func open(t *testing.T, o jetstore.Options) *jetstore.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := jetstore.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// refused expects a refusal that has the words and will not pass by itself.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Problem != api.Invalid || e.Subject == "" || e.Tried == "" || e.Next == "" {
		t.Fatalf("%v: not a refusal of four parts", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: nothing of %q", err, w)
		}
	}
}

func openFails(t *testing.T, o jetstore.Options) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := jetstore.Open(ctx, o)
	if err == nil {
		s.Close()
		t.Fatal("opened")
	}
	return err
}

// The bucket is a store of leaderships: each write states the revision that it replaces.
func TestLeadershipBucket(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		c := natsservertest.Start(t, servers)
		o := options(t, c.URL())
		o.Replicas = servers
		store, err := open(t, o).Leadership(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		if _, _, found, err := store.Get(ctx, "master.0"); found || err != nil {
			t.Errorf("found %v, %v", found, err)
		}
		r := leadership.Record{Holder: "a", Address: "h:1", Incarnation: 3, TTL: time.Second}
		first, err := store.Put(ctx, "master.0", r, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(ctx, "master.0", r, 0); !errors.Is(err, leadership.ErrConflict) {
			t.Errorf("a second creation: %v", err)
		}
		if _, err := store.Put(ctx, "master.0", r, first+1); !errors.Is(err, leadership.ErrConflict) {
			t.Errorf("after another revision: %v", err)
		}
		if _, err := store.Put(ctx, "frontend./ x", r, 0); err != nil {
			t.Errorf("another name: %v", err)
		}
		r.Token = first
		second, err := store.Put(ctx, "master.0", r, first)
		if err != nil || second <= first {
			t.Fatalf("revision %d after %d, %v", second, first, err)
		}
		if got, revision, found, err := store.Get(ctx, "master.0"); got != r || revision != second || !found || err != nil {
			t.Errorf("%+v, %d, %v, %v", got, revision, found, err)
		}
		if err := store.Delete(ctx, "master.0", first); !errors.Is(err, leadership.ErrConflict) {
			t.Errorf("removal of an older revision: %v", err)
		}
		if err := store.Delete(ctx, "master.0", 0); !errors.Is(err, leadership.ErrConflict) {
			t.Errorf("removal of any revision: %v", err)
		}
		if err := store.Delete(ctx, "master.0", second); err != nil {
			t.Error(err)
		}
		if third, err := store.Put(ctx, "master.0", r, 0); err != nil || third <= second {
			t.Errorf("revision %d after the removal of %d, %v", third, second, err)
		}
	}
}

func TestWatch(t *testing.T) {
	c := natsservertest.Start(t, 1)
	store, err := open(t, options(t, c.URL())).Leadership(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type change struct {
		r        leadership.Record
		revision uint64
		exists   bool
	}
	changes, ended := make(chan change, 10), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	first, err := store.Put(ctx, "n", leadership.Record{Holder: "a"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		ended <- store.Watch(ctx, "n", func(r leadership.Record, revision uint64, exists bool) {
			changes <- change{r, revision, exists}
		})
	}()
	if got := <-changes; got.r.Holder != "a" || got.revision != first || !got.exists {
		t.Errorf("%+v", got)
	}
	if err := store.Delete(ctx, "n", first); err != nil {
		t.Fatal(err)
	}
	if got := <-changes; got.exists || got.revision <= first {
		t.Errorf("%+v", got)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	t.Run("no JetStream", func(t *testing.T) {
		c := natsservertest.Start(t, 1, func(o *natsserver.Options) { o.JetStream = false })
		refused(t, openFails(t, options(t, c.URL())), "not switched on", "--jetstream")
	})
	t.Run("sync interval", func(t *testing.T) {
		c := natsservertest.Start(t, 1, func(o *natsserver.Options) { o.SyncInterval = "2m" })
		refused(t, openFails(t, options(t, c.URL())), "nats-0", "sync_interval 2m", "always")
	})
	t.Run("three replicas of one server", func(t *testing.T) {
		c := natsservertest.Start(t, 1)
		o := options(t, c.URL())
		o.Replicas = 3
		refused(t, openFails(t, o), "3 replicas", "nats_replicas: 1")
	})
	t.Run("a URL that is none", func(t *testing.T) {
		refused(t, openFails(t, options(t, "nats://u:hush%@h:1")), "nats")
	})
}

func TestFewerReplicasThanConfigured(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 3)
	o := options(t, c.URL())
	open(t, o).Close()
	o.Replicas = 3
	refused(t, openFails(t, o), "has 1 replicas, and 3 are configured", "nats stream edit KV_pigeon-a_2Eb-leadership --replicas 3")
}

// A cluster keeps its id: a client that gives none finds it, and one that gives another is refused.
func TestClusterID(t *testing.T) {
	c := natsservertest.Start(t, 1)
	o := options(t, c.URL())
	o.ID = "ours"
	s := open(t, o)
	if _, err := s.Stream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}}); err != nil || s.ClusterID() != "ours" {
		t.Errorf("%s: %v", s.ClusterID(), err)
	}
	o.ID = ""
	if id := open(t, o).ClusterID(); id != "ours" {
		t.Errorf("the id %q", id)
	}
	o.ID = "theirs"
	refused(t, openFails(t, o), "another cluster of the name a.b", "ours", "theirs", "cluster")
	o.ID, o.Cluster = "", "other"
	other := open(t, o)
	if id := other.ClusterID(); id == "" || id == "ours" {
		t.Errorf("the id %q of another cluster", id)
	}
	_, err := other.Stream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}})
	refused(t, err, "stream s", "another cluster", "ours")
	if _, err := s.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{Name: "foreign"}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Stream(t.Context(), jetstream.StreamConfig{Name: "foreign"})
	refused(t, err, "stream foreign", "not made by Pigeon")
	if _, err := s.ObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "b"}); err != nil {
		t.Error(err)
	}
	if _, err := s.ObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "b"}); err != nil {
		t.Errorf("again: %v", err)
	}
	_, err = other.ObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "b"})
	refused(t, err, "stream OBJ_b", "another cluster")
}

// startPlain starts a NATS server that tells clients nothing about its settings.
func startPlain(t *testing.T) *server.Server {
	t.Helper()
	return startAdmitting(t, nil)
}

// startAdmitting starts a server that admits whom that says; nil admits everyone.
func startAdmitting(t *testing.T, admits server.Authentication) *server.Server {
	t.Helper()
	plain, err := server.NewServer(&server.Options{
		CustomClientAuthentication: admits,
		Host:                       "127.0.0.1", Port: server.RANDOM_PORT, HTTPHost: "127.0.0.1", HTTPPort: server.RANDOM_PORT,
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	plain.Start()
	t.Cleanup(func() { plain.Shutdown(); plain.WaitForShutdown() })
	return plain
}

// Where servers do not answer by NATS, their monitoring does, or the operator states it.
func TestWhatTellsTheSyncInterval(t *testing.T) {
	t.Parallel()
	plain := startPlain(t)
	o := options(t, plain.ClientURL())
	refused(t, openFails(t, o), "nats_monitor", "nats_sync_always")
	o.SyncAlways = true
	open(t, o)
	o.SyncAlways, o.Monitor = false, "http://"+plain.MonitorAddr().String()+",http://127.0.0.1:1"
	open(t, o)
	lazy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/jsz" {
			_, _ = w.Write([]byte(`{"server_id":"x","config":{"sync_interval":120000000000}}`))
			return
		}
		_, _ = w.Write([]byte(`{"server_name":"lazy","version":"2.10.1"}`))
	}))
	defer lazy.Close()
	o.Monitor = lazy.URL
	refused(t, openFails(t, o), "lazy", "NATS 2.10.1", "2.11")
}

// Servers that are too busy to report their settings at once are asked again.
func TestBusyServersAreAskedAgain(t *testing.T) {
	t.Parallel()
	plain := startPlain(t)
	nc, err := nats.Connect(plain.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	asked := 0
	_, err = nc.Subscribe("$SYS.REQ.SERVER.PING.JSZ", func(m *nats.Msg) {
		if asked++; asked > 1 {
			_ = m.Respond([]byte(`{"server":{"id":"x"},"data":{"config":{"sync_always":true}}}`))
		}
	})
	if err = errors.Join(err, nc.Flush()); err != nil {
		t.Fatal(err)
	}
	open(t, options(t, plain.ClientURL()))
}

// A leadership that lapses before it could be renewed is of no use; the daemon waits for faster
// disks and logs that.
func TestRenewalLongerThanTheLeadership(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 1)
	o := options(t, c.URL())
	o.TTL = 5 * time.Microsecond
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	s, err := jetstore.Open(ctx, o)
	if err == nil {
		s.Close()
	}
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.NotReady || !strings.Contains(err.Error(), "leader_ttl is 5µs") {
		t.Errorf("opened: %v", err)
	}
}
