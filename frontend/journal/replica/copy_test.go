package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// A store whose copy is damaged gives up when it can make no snapshot: its stream would only grow until it is
// full. The next opening makes the copy again.
func TestADamagedCopyMakesNoSnapshot(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	o := options(t, js)
	a := lead(t, o)
	want := map[string]string{}
	for i := range 300 {
		value := make([]byte, 4000)
		for k := range value {
			value[k] = byte(rand.Uint32()) // is not compressed
		}
		want[fmt.Sprintf("k%03d", i)] = string(value)
		must(t, a.Append(set(fmt.Sprintf("k%03d", i), string(value)), true))
	}
	for range 2 { // the second opening writes what is in the log to a table
		must(t, a.Close())
		a = lead(t, o)
	}
	must(t, a.Close())
	tables, err := filepath.Glob(filepath.Join(o.Dir, "copy", "*.sst"))
	must(t, err)
	for _, table := range tables {
		data, err := os.ReadFile(table)
		must(t, err)
		data[len(data)/2] ^= 1
		must(t, os.WriteFile(table, data, 0o600))
	}

	a = open(t, o)
	broken := make(chan error, 10)
	must(t, a.Lead(within(t, 1e10), 0, func(err error) { broken <- err }))
	if a.snapshotOrPause(t.Context()) {
		t.Error("a snapshot was made of a damaged copy")
	}
	select {
	case err := <-broken:
		if _, ok := errors.AsType[*store.DamageError](err); !ok {
			t.Errorf("it gave up with %v", err)
		}
	default:
		t.Error("it does not give up")
	}
	if err := a.Append(set("more", "1"), true); err == nil {
		t.Error("it accepts a batch")
	}
	_ = a.Close()
	equal(t, lead(t, o), want)
}

// fullDiskChild is set in the process of a test that ends with a broken store, whose goroutines stay.
const fullDiskChild = "REPLICA_TEST_FULL_DISK"

// A standby whose disk becomes full ends with that reason: not in a panic, not without an answer, and not with
// advice about the stream, which has everything.
func TestAFollowerOnAFullDisk(t *testing.T) {
	if os.Getenv(fullDiskChild) != "" {
		fmt.Fprintln(os.Stdout, "follow:", followOnAFullDisk(t))
		os.Exit(0)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), fullDiskChild+"=1", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "follow: copy of the journal in ") || !strings.Contains(string(out), "make room on the disk") {
		t.Errorf("%v: %s", err, out)
	}
}

// followOnAFullDisk returns why a follower ends.
func followOnAFullDisk(t *testing.T) error {
	t.Helper()
	js := connect(t, serve(t, &server.Options{}))
	a := lead(t, options(t, js))
	o := options(t, js)
	o.FS = store.Faults{FullAfter: 3 << 20}.On(store.HostFS())
	b, err := Open(within(t, time.Minute), o)
	must(t, err)
	for i := range 100 {
		must(t, a.Append(set(fmt.Sprint("k", i), strings.Repeat("v", 100_000)), true))
	}
	done := make(chan error, 1)
	go func() {
		err := errors.New("its goroutine ended")
		defer func() { done <- err }()
		err = b.Follow(within(t, time.Minute))
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		return errors.New("it does not answer")
	}
}
