package master

import (
	"fmt"
	"sync/atomic"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// standing is whether this master leads its group. Without leadership it always does.
//
//	standby ──OnLead, then the owner goroutine begins──▶ leader ──resigned, or lost──▶ over
//
// A master that is over is never a standby again: another one takes its place (Daemon). Its
// methods may be called from anywhere.
type standing struct {
	name        string // of the master in errors
	incarnation int64
	shared      bool                                 // the group has standbys
	candidate   atomic.Pointer[leadership.Candidate] // nil until the store of leaderships is open
	begun       atomic.Bool                          // the owner goroutine works as leader
}

// leads reports whether this master may act. It is called once per batch: with leadership
// it reads the clock.
func (s *standing) leads() bool {
	return !s.shared || s.begun.Load() && s.candidate.Load().Leads()
}

// permitted returns what links ask before they deliver, nil without leadership.
func (s *standing) permitted() func() bool {
	if !s.shared {
		return nil
	}
	return s.leads
}

// role returns what the status shows, "" without leadership.
func (s *standing) role() string {
	switch {
	case !s.shared:
		return ""
	case s.leads():
		return api.Leader
	default:
		return api.Standby
	}
}

// leader returns where the master that leads serves, as far as is known, "" otherwise.
func (s *standing) leader() string {
	c := s.candidate.Load()
	if c == nil {
		return ""
	}
	l, known := c.Leader()
	if !known || l.Incarnation == s.incarnation && !s.leads() {
		return "" // this one begins to lead in a moment, or does not lead any more
	}
	return l.Address
}

// refusal is the error of a call that only the leader answers.
func (s *standing) refusal(tried string) error {
	e := &api.Error{
		Problem: api.NotReady, What: "it is a standby, and no master is known to lead the group", Subject: s.name,
		Tried: tried, Next: "try the group's other masters",
	}
	if at := s.leader(); at != "" {
		e.What, e.Next = "it is a standby; the master at "+at+" leads the group", "try that one"
	}
	return e
}

// helloReply is the answer of a standby to a hello.
func (m *Master) helloReply(h *wire.Hello) wire.HelloReply {
	r := wire.HelloReply{Sender: m.self, Incarnation: m.incarnation, Group: m.cfg.Group, Standby: true, Leader: m.standing.leader()}
	r.Problem = m.standing.refusal("registering " + h.Sender.String()).Error()
	return r
}

// snapshotReply is the answer of a standby to a snapshot.
func (m *Master) snapshotReply(s *wire.Snapshot) wire.SnapshotReply {
	return wire.SnapshotReply{
		Incarnation: m.incarnation, Standby: true, Leader: m.standing.leader(),
		Problem: m.standing.refusal("applying a snapshot of " + s.Sender.String()).Error(),
	}
}

// leadershipName returns under which name the master of a group leads.
func leadershipName(group int) string { return fmt.Sprintf("master.%d", group) }
