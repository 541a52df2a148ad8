package dispatch

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// notMember is for the messages of a daemon that is not on the membership yet.
func notMember(peer wire.Ref, here string) error {
	return &api.Error{Problem: api.Busy, What: "it is not on the membership that this frontend has", Subject: peer.String(), Tried: "accepting its messages at frontend " + here,
		Next: "try again, the membership is being refreshed; if the error persists, check with `pigeon nodes` whether the master lists it", RetryAfter: 10 * time.Millisecond}
}
