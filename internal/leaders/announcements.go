package leaders

import (
	"context"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Announcements receives the hello with which a master that has begun to lead makes itself known to
// the nodes and frontends of its predecessor, so that they need not search for it.
type Announcements struct {
	Self wire.Ref // this daemon
	// Leads is called with such a hello, from any goroutine. It is a hint: whether the sender
	// leads is shown by its answer to the hello of this daemon.
	Leads func(h *wire.Hello)
}

var _ wire.Registrar = Announcements{}

// Hello implements [wire.Registrar].
func (a Announcements) Hello(_ context.Context, h *wire.Hello) (wire.HelloReply, error) {
	if h.Sender.Role != sched.Master {
		return wire.HelloReply{}, a.refusal(fmt.Sprintf("%s said hello to it", h.Sender))
	}
	a.Leads(h)
	return wire.HelloReply{Sender: a.Self, Accepted: true, Group: h.Group}, nil
}

// Snapshot implements [wire.Registrar]; no daemon registers here.
func (a Announcements) Snapshot(_ context.Context, s *wire.Snapshot) (wire.SnapshotReply, error) {
	return wire.SnapshotReply{}, a.refusal(fmt.Sprintf("%s sent a snapshot to it", s.Sender))
}

func (a Announcements) refusal(what string) error {
	return &api.Error{
		Problem: api.Invalid, What: what + ", and this daemon is no master", Subject: a.Self.String(),
		Tried: "registering", Next: "correct the address of the master",
	}
}
