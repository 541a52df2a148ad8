package replica

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// fullWatch is a log that tells when a store reports that its stream is full.
type fullWatch struct {
	once sync.Once
	full chan struct{}
}

func (w *fullWatch) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "has no room") {
		w.once.Do(func() { close(w.full) })
	}
	return len(line), nil
}

// fill writes until the stream has no room for the smallest message, and ends the process then. It
// returns the value that is in the journal.
func fill(t *testing.T, o Options, before func(*Store)) (value string) {
	t.Helper()
	w := &fullWatch{full: make(chan struct{})}
	o.Log = slog.New(slog.NewTextHandler(w, nil))
	s := open(t, o)
	must(t, s.Lead(within(t, time.Minute), 0, func(error) {}))
	if before != nil {
		before(s)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for size := 5000; ; {
			if s.bytes.Load()+uint64(size)+2000 > uint64(o.MaxBytes) {
				size = 10
			}
			next := strings.Repeat("x", size)
			if s.Append(set("k", next), true) != nil {
				return
			}
			value = next
		}
	}()
	select {
	case <-w.full:
	case <-time.After(time.Minute):
		t.Error("the stream is never full")
	}
	crash(t, s)
	<-ended
	return value
}

// small returns the options of a stream that is small, and of which no snapshot is made before it is
// full.
func small(t *testing.T, js jetstream.JetStream) Options {
	o := options(t, js)
	o.MaxBytes, o.SnapshotBytes = 50_000, 1<<40
	return o
}

// leadsAgain has a process on another host lead what has become full.
func leadsAgain(t *testing.T, js jetstream.JetStream, value string) {
	t.Helper()
	b := open(t, small(t, js))
	must(t, b.Lead(within(t, 15*time.Second), 0, func(err error) { t.Errorf("the store broke: %v", err) }))
	must(t, b.Append(set("l", "more"), true))
	equal(t, b, map[string]string{"k": value, "l": "more"})
	equal(t, lead(t, small(t, js)), map[string]string{"k": value, "l": "more"})
}

// A stream that has become full because no snapshot could be made is led again when the cause of
// that is gone: there is room for the opening after a snapshot of the process that takes over.
func TestAFullStreamIsTakenOver(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	o := small(t, js)
	foreign := jetstream.ObjectStoreConfig{Bucket: jetstore.SnapshotStore(o.Cluster), Metadata: map[string]string{metaCluster: "other"}}
	_, err := js.CreateObjectStore(t.Context(), foreign)
	must(t, err)
	value := fill(t, o, nil)
	b := open(t, small(t, js))
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := b.Lead(short, 0, func(error) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the cause is there: %v", err)
	}
	if made, failed := b.Snapshots(); made != 0 || failed == 0 {
		t.Errorf("%d snapshots were made and %d failed", made, failed)
	}
	must(t, js.DeleteObjectStore(t.Context(), foreign.Bucket))
	leadsAgain(t, js, value)
}

// unpurged is a stream whose messages cannot be removed.
type unpurged struct{ jetstream.Stream }

func (unpurged) Purge(context.Context, ...jetstream.StreamPurgeOpt) error {
	return errors.New("the process ended before it purged")
}

// A snapshot of all that a full stream has, whose process ended before it removed the messages, makes
// room for the next process, too, on a host that begins from that snapshot.
func TestASnapshotThatWasNotPurged(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	o := small(t, js)
	value := fill(t, o, func(s *Store) {
		must(t, s.Append(set("k", "first"), true))
		must(t, s.snapshot(t.Context())) // so that the copy of another host begins from a snapshot
		s.stream = unpurged{s.stream}
	})
	a := open(t, o)
	a.stream = unpurged{a.stream}
	if err := a.snapshot(t.Context()); err == nil {
		t.Fatal("it was purged")
	}
	crash(t, a)
	leadsAgain(t, js, value)
}
