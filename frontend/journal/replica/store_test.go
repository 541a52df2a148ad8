package replica

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

func equal(t *testing.T, s *Store, want map[string]string) {
	t.Helper()
	if got := content(t, s); !maps.Equal(got, want) {
		t.Fatalf("the store holds %d keys %.300v, want %d %.300v", len(got), got, len(want), want)
	}
}

func TestABatchIsThereOnAnotherHost(t *testing.T) {
	js := connect(t, serve(t, &server.Options{}))
	o := options(t, js)
	a := lead(t, o)
	must(t, a.Append(set("k1", "v1", "k2", "v2"), true))
	b := set()
	b.Delete([]byte("k1"))
	b.DeleteRange([]byte("x"), []byte("y"))
	must(t, a.Append(b, true))
	equal(t, a, map[string]string{"k2": "v2"})
	crash(t, a)
	equal(t, lead(t, options(t, js)), map[string]string{"k2": "v2"})
}

func TestAFormerWriterIsFenced(t *testing.T) {
	js := connect(t, serve(t, &server.Options{}))
	first := options(t, js)
	first.Who = "the first"
	a := lead(t, first)
	must(t, a.Append(set("k", "of a"), true))
	second := options(t, js)
	second.Who = "the second"
	b := lead(t, second)
	err := a.Append(set("k", "late"), true)
	fenced, is := errors.AsType[*FencedError](err)
	if !is || fenced.By != "the second" {
		t.Fatalf("the former writer got %v", err)
	}
	if err := a.Append(set("k", "later"), true); err == nil {
		t.Fatal("a fenced writer wrote")
	}
	must(t, b.Append(set("l", "of b"), true))
	equal(t, b, map[string]string{"k": "of a", "l": "of b"})
}

func TestWhatIsNotDurableGoesWithTheNext(t *testing.T) {
	js := connect(t, serve(t, &server.Options{}))
	o := options(t, js)
	o.lazyFor = time.Hour
	a := lead(t, o)
	must(t, a.Append(set("lazy", "1"), false))
	if n := a.last.sequence; n != 1 {
		t.Fatalf("the stream has %d messages", n)
	}
	must(t, a.Append(set("k", "1"), true))
	if n := a.last.sequence; n != 2 {
		t.Fatalf("the stream has %d messages", n)
	}
	must(t, a.Append(set("lazy", "2"), false))
	must(t, a.Close()) // writes it
	equal(t, lead(t, options(t, js)), map[string]string{"lazy": "2", "k": "1"})
}

func TestWhatIsNotDurableIsWrittenByItself(t *testing.T) {
	js := connect(t, serve(t, &server.Options{}))
	a := lead(t, options(t, js))
	must(t, a.Append(set("lazy", "1"), false))
	b := open(t, options(t, js))
	for len(content(t, b)) == 0 {
		must(t, b.Follow(within(t, time.Minute)))
	}
	equal(t, b, map[string]string{"lazy": "1"})
}

func TestALargeBatchCountsWholeOrNotAtAll(t *testing.T) {
	js := connect(t, serve(t, &server.Options{}))
	o := options(t, js)
	o.maxMessage = 10
	a := lead(t, o)
	large := strings.Repeat("0123456789", 50)
	must(t, a.Append(set("k", large), true))
	if n := a.last.sequence; n < 50 {
		t.Fatalf("the batch travelled in %d messages", n-1)
	}
	// A writer that dies between the parts of a batch.
	a.mu.Lock()
	m := &message{kind: part, writer: a.writer, index: 0, count: 2, body: set("k", "half").AppendTo(nil)}
	in, err := a.put(t.Context(), m.encode(a.last.chain))
	a.mu.Unlock()
	if !in || err != nil {
		t.Fatalf("%v %v", in, err)
	}
	crash(t, a)
	b := lead(t, o) // on the same host
	equal(t, b, map[string]string{"k": large})
	must(t, b.Append(set("l", "1"), true))
	c := lead(t, options(t, js))
	equal(t, c, map[string]string{"k": large, "l": "1"})
}

func TestACopyThatIsDamagedOrForeignIsMadeAgain(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	o := options(t, js)
	a := lead(t, o)
	must(t, a.Append(set("k", "v"), true))
	must(t, a.Close())
	damageFiles(t, a.folder(), "MANIFEST*")
	b := lead(t, o)
	equal(t, b, map[string]string{"k": "v"})
	must(t, b.Close())
	other := o
	other.Frontend = "g"
	c := lead(t, other)
	equal(t, c, map[string]string{})
	must(t, c.Append(set("of", "g"), true))
	must(t, c.Close())
	equal(t, lead(t, o), map[string]string{"k": "v"})
}

func TestAStreamThatLostSomethingIsRefused(t *testing.T) {
	js := connect(t, serve(t, &server.Options{}))
	ctx := within(t, time.Minute)
	o := options(t, js)
	a := lead(t, o)
	must(t, a.Append(set("k", "v"), true))
	must(t, a.Close())
	refused := func(want string) {
		t.Helper()
		s, err := Open(ctx, o)
		if _, lost := errors.AsType[*LostError](err); !lost || !strings.Contains(err.Error(), want) {
			t.Fatalf("want a refusal with %q, got %v, %v", want, s, err)
		}
	}
	config := a.stream.CachedInfo().Config
	must(t, js.DeleteStream(ctx, a.name))
	refused("it is missing, and message 2 of it had been acknowledged")
	_, err := js.CreateStream(ctx, config) // as restored from an empty backup
	must(t, err)
	refused("it ends at message 0, and message 2 had been acknowledged")
	for range 2 {
		m := &message{kind: opening}
		_, err := js.Publish(ctx, a.subject, m.encode(7))
		must(t, err)
	}
	refused("its message 2 is another than the one that had been acknowledged")
}

func TestStreamsThatCannotBeTrustedAreRefused(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	ctx := within(t, time.Minute)
	for name, c := range map[string]struct {
		change func(*jetstream.StreamConfig, *Options)
		want   string
	}{
		"of another cluster":    {func(c *jetstream.StreamConfig, _ *Options) { c.Metadata[metaCluster] = "other" }, `of cluster "other"`},
		"of nobody":             {func(c *jetstream.StreamConfig, _ *Options) { c.Metadata = nil }, "it was not made by Pigeon"},
		"of a later program":    {func(c *jetstream.StreamConfig, _ *Options) { c.Metadata[metaFormat] = "9" }, "it has format 9"},
		"with fewer replicas":   {func(_ *jetstream.StreamConfig, o *Options) { o.Replicas = 3 }, "it has 1 replicas, 3 are configured (nats_replicas)"},
		"in memory":             {func(c *jetstream.StreamConfig, _ *Options) { c.Storage = jetstream.MemoryStorage }, "it is kept in memory"},
		"that is not synced":    {func(c *jetstream.StreamConfig, _ *Options) { c.PersistMode = jetstream.AsyncPersistMode }, "persist_mode"},
		"that forgets":          {func(c *jetstream.StreamConfig, _ *Options) { c.MaxAge = time.Hour }, "it forgets messages by itself"},
		"that forgets the last": {func(c *jetstream.StreamConfig, _ *Options) { c.Discard = jetstream.DiscardOld }, "when it is full"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, js)
			// Each has a stream of its own: a server that is busy cannot make one in the place of one
			// that it has just deleted.
			o.Frontend = strings.ReplaceAll(name, " ", "-")
			s := &Store{opts: o.withDefaults(), name: jetstore.JournalStream("c", o.Frontend), subject: jetstore.JournalSubject("c", o.Frontend)}
			config := s.config()
			c.change(&config, &o)
			_, err := js.CreateStream(ctx, config)
			must(t, err)
			if _, err := Open(ctx, o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSnapshotsBoundTheStream(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	o := options(t, js)
	o.SnapshotBytes = 20_000
	a := lead(t, o)
	want := map[string]string{}
	for i := 0; ; i++ {
		k := string(rune('a' + i%20))
		want[k] = strings.Repeat(k, 1000)
		must(t, a.Append(set(k, want[k]), true))
		if made, failed := a.Snapshots(); failed > 0 {
			t.Fatal("a snapshot failed")
		} else if made >= 3 {
			break
		}
	}
	crash(t, a)
	info, err := a.stream.Info(t.Context())
	must(t, err)
	if info.State.FirstSeq < 2 {
		t.Fatal("the stream was not purged")
	}
	b := lead(t, options(t, js)) // from the snapshot
	equal(t, b, want)
	must(t, b.Append(set("new", "1"), true))
	want["new"] = "1"
	equal(t, lead(t, o), want)       // from an old copy that the stream does not continue, or does
	must(t, b.snapshot(t.Context())) // a process that died may have left an earlier one
	list, _, err := b.snapshotsOf(t.Context(), b.bucket)
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("the snapshots %v are kept", list)
	}
}

func TestAFullStreamWaitsForRoom(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	o := options(t, js)
	o.MaxBytes, o.SnapshotBytes = 50_000, 1<<40
	a := lead(t, o)
	a.maxBytes = 0 // no snapshot by itself
	value := strings.Repeat("v", 10_000)
	for range 4 {
		must(t, a.Append(set("k", value), true))
	}
	a.maxBytes = o.MaxBytes
	if _, free, err := a.Space(); err != nil || free > 10_000 {
		t.Fatalf("%d bytes are free, %v", free, err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Append(set("l", value), true) }() // makes a snapshot, because there is no room
	select {
	case err := <-done:
		must(t, err)
	case <-time.After(await.Limit):
		t.Fatal("there is never room")
	}
	await.Until(t, "a snapshot is counted", func() bool { made, _ := a.Snapshots(); return made > 0 }) // there is room before that
	equal(t, lead(t, options(t, js)), map[string]string{"k": value, "l": value})
}

// A process that learns late that it has lost its leadership does not take the journal from the one
// that leads now.
func TestALowerTokenDoesNotTakeOver(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	ctx := within(t, time.Minute)
	a, b := open(t, options(t, js)), open(t, options(t, js))
	must(t, b.Lead(ctx, 9, func(error) {}))
	must(t, b.snapshot(ctx)) // which carries the token
	if _, fenced := errors.AsType[*FencedError](a.Lead(ctx, 5, func(error) {})); !fenced {
		t.Fatal("a lower token took over")
	}
	must(t, b.Append(set("k", "v"), true))
	c := open(t, options(t, js)) // from the snapshot
	if _, fenced := errors.AsType[*FencedError](c.Lead(ctx, 5, func(error) {})); !fenced {
		t.Fatal("a lower token took over")
	}
	must(t, c.Lead(ctx, 12, func(error) {}))
}
