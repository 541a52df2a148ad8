package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// keeper answers every request for the membership with one that has all fields.
type keeper struct{ asked string }

func (k *keeper) Membership(_ context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Membership, error) {
	k.asked = fmt.Sprint(incarnation, version, wait)
	if version == 0 {
		return wire.Membership{}, &api.Error{Problem: api.Busy, What: "too many wait", RetryAfter: time.Second}
	}
	return filled[wire.Membership](), nil
}

func TestRoll(t *testing.T) {
	k, ctx := &keeper{}, context.Background()
	codec := wire.NewCodec(newNames(), at(0))
	c := dialPeer(t, wire.PeerPorts{Membership: k}, codec)
	got, err := c.Membership(ctx, -5, 1<<63+1, 2500*time.Millisecond)
	must(t, err)
	equal(t, "membership", got, filled[wire.Membership]())
	equal(t, "calls", k.asked, fmt.Sprint(int64(-5), uint64(1<<63+1), 2500*time.Millisecond))

	var e *api.Error
	if _, err := c.Membership(ctx, 0, 0, 0); !errors.As(err, &e) || e.Problem != api.Busy || e.RetryAfter != time.Second {
		t.Errorf("a keeper that is busy answers %v", err)
	}
	if _, err := dialPeer(t, wire.PeerPorts{}, codec).Membership(ctx, 0, 0, 0); !errors.As(err, &e) || !strings.Contains(e.What, "no master") {
		t.Errorf("a daemon without a membership answers %v", err)
	}
}

// The content of a slot is read as carefully as messages: tables are sized by it.
func TestHeldIsRefused(t *testing.T) {
	fake, ctx := &fakePeer{}, context.Background()
	c := dialPeer(t, wire.PeerPorts{Registrar: fake}, wire.NewCodec(newNames(), at(0)))
	good := wire.Held{ID: sched.AttemptID{Task: 1, Attempt: 1}}
	for want, slot := range map[string]wire.Slot{
		"class 7":                    {Held: []wire.Held{good, {ID: good.ID, Class: 7}}},
		"task -1":                    {Held: []wire.Held{{ID: sched.AttemptID{Task: -1, Attempt: 1}}}},
		"task 100000":                {Held: []wire.Held{{ID: sched.AttemptID{Task: sched.MaxTasks, Attempt: 1}}}},
		"attempt 0":                  {Held: []wire.Held{{}}},
		"estimate -1":                {Held: []wire.Held{{ID: good.ID, Estimate: -1}}},
		"number -1":                  {Number: -1},
		"number 16777217":            {Number: sched.MaxID + 2},
		"attempts, the limit is 100": {Held: make([]wire.Held, 100_001)},
	} {
		var e *api.Error
		_, err := c.Hello(ctx, &wire.Hello{Sender: node, Slots: []wire.Slot{slot}})
		if !errors.As(err, &e) || e.Problem != api.Invalid || !strings.Contains(e.What, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	equal(t, "calls", len(fake.calls()), 0)
}
