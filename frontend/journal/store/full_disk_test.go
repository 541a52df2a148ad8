package store

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// fullDiskChild is set in the process of a test that ends with a broken store, whose goroutines stay.
const fullDiskChild = "STORE_TEST_FULL_DISK"

// A store on a full disk tells why it is broken, also when no batch was durable: it does not end the process in
// a panic.
func TestBatchesThatAreNotDurableOnAFullDisk(t *testing.T) {
	if os.Getenv(fullDiskChild) != "" {
		fmt.Fprintln(os.Stdout, "broken:", fillDisk(t))
		os.Exit(0)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), fullDiskChild+"=1", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "broken: no space left on device") {
		t.Errorf("%v: %s", err, out)
	}
}

// fillDisk returns why a store on a full disk broke.
func fillDisk(t *testing.T) error {
	t.Helper()
	dir, fs, broken := t.TempDir(), Faults{FullAfter: 3 << 20}.On(HostFS()), make(chan error, 100)
	lock, err := Lock(fs, dir)
	if err != nil {
		return err
	}
	d, err := Open(dir, lock, Options{FS: fs, Logger: slog.New(slog.DiscardHandler), Broken: func(err error) { broken <- err }})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range byte(200) {
			var b Batch
			b.Set([]byte{i}, []byte(strings.Repeat("v", 100_000)))
			if err := d.Append(&b, false); err != nil {
				return
			}
		}
	}()
	select {
	case err := <-broken:
		select {
		case <-ended:
		case <-time.After(100 * time.Millisecond): // the store may block a batch forever, and must not panic with it
		}
		return err
	case <-time.After(20 * time.Second):
		return fmt.Errorf("it did not break")
	}
}
