package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

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
