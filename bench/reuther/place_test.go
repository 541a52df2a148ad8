package reuther

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestDaemonThatEnds: a daemon that ends by itself ends a call that waits for it, with that as the cause.
func TestDaemonThatEnds(t *testing.T) {
	p, err := newPlace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.close() }) // its daemon has failed
	if _, err := p.daemon("short", "sh", "-c", "echo no disk; exit 3"); err != nil {
		t.Fatal(err)
	}
	ctx, free := p.guarded(t.Context())
	defer free()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the end of the daemon was not reported")
	}
	if err := context.Cause(ctx); !strings.Contains(err.Error(), "no disk") {
		t.Error(err)
	}
}
