package membership_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const lostAfter = 2 * time.Second

// publisher returns one that starts now, by the clock of the test's bubble.
func publisher() *membership.Publisher {
	start := time.Now()
	return membership.NewPublisher(membership.PublisherOptions{
		Name: "master of group 0", Incarnation: 7, LostAfter: lostAfter, Now: func() sched.Time { return sched.Time(time.Since(start)) },
	})
}

func nodes(names ...string) (list []wire.MemberNode) {
	for _, name := range names {
		list = append(list, wire.MemberNode{Name: name, Incarnation: 1})
	}
	return list
}

// A request is answered at once when there is something newer, and else with the change
// or after its wait.
func TestPublisherAnswers(t *testing.T) {
	for _, c := range []struct {
		name        string
		incarnation int64
		version     uint64
		wait        time.Duration
		after       time.Duration // nothing is published before this
		version2    uint64        // of the answer
		took        time.Duration
	}{
		{"the first question", 0, 0, time.Minute, time.Hour, 1, 0},
		{"the same, without a wait", 7, 1, 0, time.Hour, 1, 0},
		{"the same, until a change", 7, 1, time.Minute, 3 * time.Second, 2, 3 * time.Second},
		{"the same, without a change", 7, 1, 5 * time.Second, time.Hour, 1, 5 * time.Second},
		{"the same, for ever", 7, 1, time.Hour, time.Hour, 1, 30 * time.Second},
		{"of an earlier master", 6, 9, time.Minute, time.Hour, 1, lostAfter},
		{"of an earlier master, for a moment", 6, 9, time.Second, time.Hour, 9, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, began := publisher(), time.Now()
				timer := time.AfterFunc(c.after, func() { p.Publish(nodes("n"), nil) })
				defer timer.Stop()
				m, err := p.Membership(t.Context(), c.incarnation, c.version, c.wait)
				if err != nil || m.Version != c.version2 || time.Since(began) != c.took {
					t.Errorf("answered %+v, %v after %v; want version %d after %v", m, err, time.Since(began), c.version2, c.took)
				}
			})
		})
	}
}

// A publisher that closes ends the requests that wait, and those to come.
func TestPublisherCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publisher()
		time.AfterFunc(time.Second, p.Close)
		for range 2 {
			_, err := p.Membership(t.Context(), 7, 1, 20*time.Second)
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.NotReady {
				t.Errorf("answered %v", err)
			}
		}
		if p.Get().Version != 1 {
			t.Errorf("published is %+v", p.Get())
		}
	})
}

// A reader whose context ends does not wait longer.
func TestPublisherReaderGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := publisher().Membership(ctx, 7, 1, 20*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("answered %v", err)
		}
	})
}

// The questions that wait are bounded.
func TestPublisherIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publisher()
		for range 8192 {
			go func() { _, _ = p.Membership(t.Context(), 7, 1, 20*time.Second) }()
		}
		synctest.Wait()
		_, err := p.Membership(t.Context(), 7, 1, 20*time.Second)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Busy || e.RetryAfter == 0 {
			t.Errorf("question 8193 is answered %v", err)
		}
		p.Publish(nil, nil)
		synctest.Wait()
		if m, err := p.Membership(t.Context(), 7, 1, 0); err != nil || m.Version != 2 {
			t.Errorf("answered %+v, %v", m, err)
		}
	})
}
