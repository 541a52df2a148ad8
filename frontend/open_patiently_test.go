package frontend

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// A journal whose snapshot takes longer to read than the first try has is opened.
func TestAJournalThatTakesLongToReadIsOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		want := new(replica.Store)
		got, err := openPatiently(ctx, slog.New(slog.DiscardHandler), func(try context.Context) (*replica.Store, error) {
			select {
			case <-time.After(3 * openPatience): // each try reads it from its beginning
				return want, nil
			case <-try.Done():
				return nil, &api.Error{Problem: api.NotReady, What: try.Err().Error()}
			}
		})
		if err != nil || got != want {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// A standby whose copy has to be made again from a snapshot that takes long to read catches up.
func TestAStandbyReadsASnapshotThatTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read := 0
		f := following{func(ctx context.Context) error {
			select {
			case <-time.After(9 * followEvery):
				read++
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, followEvery}
		for range 20 {
			if err := f.follow(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if read == 0 {
			t.Error("no reading came to its end")
		}
	})
}
