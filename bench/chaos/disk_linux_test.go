package chaos

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// TestNodeDisk: nothing can be written below a node's work folder while the fault lasts, and all is
// there again afterwards.
func TestNodeDisk(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "node")
	kept := filepath.Join(folder, "kept")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	over := make(chan error, 1)
	go func() { over <- nodeDisk(ctx, folder, time.Hour) }()
	await.Until(t, "the folder cannot be written", func() bool {
		err := os.Mkdir(filepath.Join(folder, "x"), 0o700)
		_ = os.Remove(filepath.Join(folder, "x"))
		return err != nil
	}, func() string { return "" })
	end()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(kept, "more"), 0o700); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(list) != 1 {
		t.Errorf("beside the folder: %v, %v", list, err)
	}
}
