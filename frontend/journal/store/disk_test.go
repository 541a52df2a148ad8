package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pigeon-sched/pigeon/internal/await"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func options(t *testing.T) Options {
	return Options{Logger: slog.New(slog.DiscardHandler), Broken: func(err error) { t.Errorf("the store broke: %v", err) }}
}

func openDisk(t *testing.T, dir string, o Options) *Disk {
	t.Helper()
	lock, err := Lock(HostFS(), dir)
	must(t, err)
	t.Cleanup(func() { must(t, lock.Release()) })
	d, err := Open(dir, lock, o)
	must(t, err)
	return d
}

func keys(t *testing.T, d *Disk, from, to string) (list []string) {
	t.Helper()
	must(t, d.Scan([]byte(from), []byte(to), func(key, value []byte) error {
		list = append(list, fmt.Sprintf("%s=%s", key, value))
		return nil
	}))
	return list
}

func TestBatchesApplyInOrder(t *testing.T) {
	d := openDisk(t, t.TempDir(), options(t))
	var b Batch
	scratch := []byte("k0")
	for i := range 5 {
		scratch[1] = byte('0' + i)
		b.Set(scratch, []byte{byte('a' + i)})
	}
	b.Delete([]byte("k0"))
	b.DeleteRange([]byte("k2"), []byte("k4"))
	b.Set([]byte("k3"), []byte("again"))
	must(t, d.Append(&b, true))
	if got, want := keys(t, d, "k", "l"), []string{"k1=b", "k3=again", "k4=e"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	b.Reset()
	must(t, d.Append(&b, false))
	v, err := d.Get([]byte("k3"))
	if err != nil || string(v) != "again" {
		t.Fatalf("got %q, %v", v, err)
	}
	if v, err := d.Get([]byte("k2")); v != nil || err != nil {
		t.Fatalf("a deleted key holds %q, %v", v, err)
	}
	must(t, d.Close())
}

// A scan sees the store as it was when it began, whatever is appended meanwhile.
func TestScanIsASnapshot(t *testing.T) {
	d := openDisk(t, t.TempDir(), options(t))
	var b Batch
	b.Set([]byte("a"), []byte("1"))
	b.Set([]byte("b"), []byte("1"))
	must(t, d.Append(&b, true))
	b.Reset()
	b.Set([]byte("b"), []byte("2"))
	b.Set([]byte("c"), []byte("2"))
	var got []string
	must(t, d.Scan(nil, nil, func(key, value []byte) error {
		if len(got) == 0 {
			must(t, d.Append(&b, true))
		}
		got = append(got, fmt.Sprintf("%s=%s", key, value))
		return nil
	}))
	if want := []string{"a=1", "b=1"}; !slices.Equal(got, want) {
		t.Fatalf("the scan saw %v, want %v", got, want)
	}
	stop := errors.New("stop")
	if err := d.Scan(nil, nil, func(_, _ []byte) error { return stop }); !errors.Is(err, stop) {
		t.Fatalf("the scan returned %v", err)
	}
	must(t, d.Close())
}

func TestOpeningWithoutAStore(t *testing.T) {
	dir := t.TempDir()
	lock, err := Lock(HostFS(), dir)
	must(t, err)
	o := options(t)
	o.MustExist = true
	_, err = Open(dir, lock, o)
	if _, ok := errors.AsType[*DamageError](err); !ok {
		t.Fatalf("a store that must exist and does not: %v", err)
	}
	if _, err := Lock(HostFS(), dir); err == nil {
		t.Fatal("the folder was locked twice")
	}
	must(t, lock.Release())
}

// A store that was opened often without much to write in between, as by a frontend that is
// restarted again and again, merges its tables: with too many of them it would stop to write.
func TestTablesOfManyOpeningsAreMerged(t *testing.T) {
	dir := t.TempDir()
	lock, err := Lock(HostFS(), dir)
	must(t, err)
	defer func() { must(t, lock.Release()) }()
	open := func() *Disk {
		d, err := Open(dir, lock, options(t))
		must(t, err)
		return d
	}
	tables := func(d *Disk) int64 { return d.db.Metrics().Levels[0].TablesCount }
	var b Batch
	b.Set([]byte("k"), []byte("v"))
	for range 20 {
		d := open()
		must(t, d.Append(&b, true))
		must(t, d.Close()) // what was appended becomes a table of the next opening
	}
	d := open()
	await.Until(t, "the tables are merged", func() bool { return tables(d) < 4 })
	must(t, d.Close())
}

// A store that stops to write says so, at most once a minute: nothing else does.
func TestStallsAreLogged(t *testing.T) {
	var log bytes.Buffer
	listener := pebbleOptions(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, nil).EventListener
	for range 2 {
		listener.WriteStallBegin(pebble.WriteStallBeginInfo{Reason: "L0 file count limit exceeded"})
	}
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "file count") {
		t.Errorf("two stalls were logged as %q", got)
	}
}
