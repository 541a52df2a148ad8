package replica

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, natsservertest.LeftBehind())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve starts a NATS server with JetStream.
func serve(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog, o.JetStream = "127.0.0.1", server.RANDOM_PORT, true, true, true
	if o.StoreDir == "" {
		o.StoreDir = t.TempDir()
	}
	s, err := server.NewServer(o)
	must(t, err)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not answer")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func connect(t testing.TB, s *server.Server, o ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(s.ClientURL(), append(o, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))...)
	must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(t, err)
	return js
}

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// options returns the options of a store of frontend f of cluster c with one replica.
func options(t testing.TB, js jetstream.JetStream) Options {
	return Options{Cluster: "c", Frontend: "f", JetStream: js, Replicas: 1, Dir: filepath.Join(t.TempDir(), "copy"), Who: t.Name()}
}

// open opens a store.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(within(t, time.Minute), o)
	must(t, err)
	t.Cleanup(func() { s.Abandon(fmt.Errorf("the test has ended")); _ = s.Close() })
	return s
}

// lead opens a store and takes over the stream.
func lead(t testing.TB, o Options) *Store {
	t.Helper()
	s := open(t, o)
	must(t, s.Lead(within(t, time.Minute), 0, func(err error) { t.Errorf("the store broke: %v", err) }))
	return s
}

func set(pairs ...string) *store.Batch {
	b := new(store.Batch)
	for i := 0; i < len(pairs); i += 2 {
		b.Set([]byte(pairs[i]), []byte(pairs[i+1]))
	}
	return b
}

// content returns the keys and values of a store.
func content(t testing.TB, s *Store) map[string]string {
	t.Helper()
	m := map[string]string{}
	must(t, s.Scan([]byte{1}, nil, func(k, v []byte) error { m[string(k)] = string(v); return nil }))
	return m
}

// crash ends a store and its calls in progress, as the end of its process would.
func crash(t testing.TB, s *Store) {
	t.Helper()
	s.Abandon(fmt.Errorf("the process died"))
	must(t, s.Close())
}

// damageFiles overwrites the beginning of every file of a kind in a folder.
func damageFiles(t testing.TB, dir, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	must(t, err)
	if len(files) == 0 {
		t.Fatalf("no file %s in %s", pattern, dir)
	}
	for _, f := range files {
		must(t, os.WriteFile(f, []byte("damaged"), 0o600))
	}
}
