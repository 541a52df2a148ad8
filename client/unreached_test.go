package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/client"
)

// Where no frontend has ever answered, the user waits once, however many calls a verb makes.
func TestOneWaitForAWrongAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, said := w.client("dead:1")
		began := time.Now()
		for range 3 {
			if err := c.Any(t.Context(), func(ctx context.Context, f *client.Frontend) error { _, err := f.Status(ctx, "k"); return err }); err == nil {
				t.Error("an answer")
			}
		}
		if took := time.Since(began); took < client.ShortRetry || took > client.ShortRetry+time.Second {
			t.Errorf("three calls took %v", took)
		}
		if n := len(said.all()); n != 1 {
			t.Errorf("%d lines: %q", n, said.all())
		}
		time.Sleep(time.Second) // the pause after an attempt to connect
		w.start("dead:1", &process{journal: newJournal("f0")})
		if err := c.Any(t.Context(), func(ctx context.Context, f *client.Frontend) error { _, err := f.Identify(ctx); return err }); err != nil {
			t.Errorf("after its start: %v", err)
		}
	})
}
