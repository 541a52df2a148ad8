package membership_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// answers is a source that answers from a list, and fails at the end of it.
type answers struct {
	list []answer
	have []uint64 // versions that the follower had when it asked
	at   []int    // seconds
	from time.Time
}

type answer struct {
	incarnation int64
	version     uint64
	after       time.Duration
	err         error
}

var errEnd = errors.New("there are no more answers")

func (a *answers) Membership(ctx context.Context, _ int64, version uint64, _ time.Duration) (wire.Membership, error) {
	a.have, a.at = append(a.have, version), append(a.at, int(time.Since(a.from)/time.Second))
	if len(a.list) == 0 {
		<-ctx.Done()
		return wire.Membership{}, errEnd
	}
	next := a.list[0]
	a.list = a.list[1:]
	select {
	case <-time.After(next.after):
	case <-ctx.Done():
		return wire.Membership{}, ctx.Err()
	}
	return wire.Membership{Incarnation: next.incarnation, Version: next.version}, next.err
}

// A follower applies a newer membership, ignores one that is not, and pauses after
// an answer that failed or came too early with nothing new.
func TestFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pause = time.Second
		source := &answers{from: time.Now(), list: []answer{
			{1, 1, 0, nil}, {1, 2, 0, nil},
			{1, 2, 0, nil},               // nothing new, too early
			{1, 2, 5 * time.Second, nil}, // nothing new, in time
			{err: errEnd}, {err: errEnd}, // the master is restarted
			{2, 1, 0, nil},
			{2, 7, time.Hour, nil}, // no answer in time
			{2, 3, 0, nil},
		}}
		ctx, stop := context.WithCancel(t.Context())
		var applied []uint64
		var failures []int
		f := membership.NewFollower(membership.FollowerOptions{
			Source: source, Margin: time.Second, Retry: func(int) time.Duration { return pause },
			Failed: func(_ error, n int) { failures = append(failures, n) },
			Apply: func(_ context.Context, m *wire.Membership) bool {
				if applied = append(applied, uint64(m.Incarnation)*10+m.Version); m.Version == 3 { //nolint:gosec // small
					stop()
				}
				return true
			},
		})
		f.Run(ctx)
		if want := []uint64{11, 12, 21, 23}; !slices.Equal(applied, want) {
			t.Errorf("applied %v, want %v", applied, want)
		}
		if want := []int{1, 1, 2, 1}; !slices.Equal(failures, want) {
			t.Errorf("failures in a row %v, want %v", failures, want)
		}
		if want := []uint64{0, 1, 2, 2, 2, 2, 2, 1, 1}; !slices.Equal(source.have, want) {
			t.Errorf("asked with the versions %v, want %v", source.have, want)
		}
		if want := []int{0, 0, 0, 1, 6, 7, 8, 8, 15}; !slices.Equal(source.at, want) {
			t.Errorf("asked at %v", source.at)
		}
	})
}

// RefreshNow ends a pause, and an Apply that returns false the follower.
func TestFollowerRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &answers{from: time.Now(), list: []answer{{err: errEnd}, {1, 1, 0, nil}}}
		f := membership.NewFollower(membership.FollowerOptions{
			Source: source, Retry: func(int) time.Duration { return time.Hour },
			Apply: func(context.Context, *wire.Membership) bool { return false },
		})
		time.AfterFunc(time.Second, func() { f.RefreshNow(); f.RefreshNow() })
		f.Run(t.Context())
		if took := time.Since(source.from); took != time.Second || len(source.at) != 2 {
			t.Errorf("asked %d times in %v", len(source.at), took)
		}
	})
}

// A heartbeat keeps its period, retries after its pause, beats early on demand but not
// while it fails, and ends with ErrStop.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *membership.Heartbeat
		began, fail := time.Now(), errors.New("no answer")
		var at []int // seconds
		var failures []int
		results := []struct {
			took time.Duration
			err  error
		}{{0, nil}, {4 * time.Second, nil}, {15 * time.Second, nil}, {0, fail}, {0, fail}, {0, nil}, {0, nil}, {0, membership.ErrStop}}
		h = membership.NewHeartbeat(10*time.Second, func(n int) time.Duration {
			failures = append(failures, n)
			return 2 * time.Second
		}, func(context.Context) error {
			at = append(at, int(time.Since(began)/time.Second))
			r := results[len(at)-1]
			time.Sleep(r.took)
			return r.err
		})
		time.AfterFunc(36*time.Second, h.BeatNow) // while it fails
		time.AfterFunc(42*time.Second, h.BeatNow)
		h.Run(t.Context())
		if want := []int{0, 10, 20, 35, 37, 39, 39, 42}; !slices.Equal(at, want) || !slices.Equal(failures, []int{1, 2}) {
			t.Errorf("beats at %v, failures %v; want beats at %v", at, failures, want)
		}
	})
}

// A call that fails without its own pause is repeated after the period, and the end of ctx ends it
// all.
func TestHeartbeatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		beats := 0
		membership.NewHeartbeat(10*time.Second, nil, func(context.Context) error { beats++; return errEnd }).Run(ctx)
		if beats != 3 {
			t.Errorf("%d beats in 25 s, one each 10 s", beats)
		}
	})
}
