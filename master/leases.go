package master

import (
	"log/slog"
	"maps"

	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// leaseRevoker ends leases: it publishes a notice to the nodes of the group when tasks wait
// while applications may keep slots there under a lease (docs/applications.md, The lease of
// a slot). When a notice is lost, the tasks wait for the rest of the lease.
//
// It belongs to the owner goroutine.
type leaseRevoker struct {
	log      *slog.Logger
	envelope wire.Batch // of every notice
	codec    *wire.Codec
	publish  func(data []byte) error // nil without NATS
	clock    runloop.Clock

	// leases are the applications, owners and classes whose grants may have a lease: one was
	// launched, last at this time, while no other task waited, and no notice has ended its lease
	// since.
	leases map[lease]sched.Time
	forgot sched.Time // when leases that are over were last removed
}

// longestLease bounds the time from a launch to the end of its lease. A lease lasts a minute at
// most (the node's setting grant_lease) from when the application receives the grant, which it
// does within seconds or not at all.
const longestLease = 2 * 60 * sched.Second

// lease is kept for all grants of an application, owner and class together.
type lease struct {
	app, owner string
	class      sched.Class
}

func newLeaseRevoker(codec *wire.Codec, envelope wire.Batch, clock runloop.Clock, log *slog.Logger) *leaseRevoker {
	return &leaseRevoker{log: log, envelope: envelope, codec: codec, clock: clock, leases: map[lease]sched.Time{}, forgot: clock.Now()}
}

// launched records a launch for whose worker no other task waits.
func (r *leaseRevoker) launched(m *sched.Message) {
	if r.publish == nil || m.App == "" {
		return
	}
	now := r.clock.Now()
	if now-r.forgot > longestLease {
		r.forgot = now
		maps.DeleteFunc(r.leases, func(_ lease, launched sched.Time) bool { return now-launched > longestLease })
	}
	r.leases[lease{m.App, m.Owner, m.Class}] = now
}

// mayExist reports whether there may be leases at all.
func (r *leaseRevoker) mayExist() bool { return len(r.leases) > 0 }

// revoke publishes that tasks wait, if a lease may delay them: one of another application
// or owner, of a class that is not more urgent.
func (r *leaseRevoker) revoke(m *sched.Message) {
	found, now := false, r.clock.Now()
	for l, launched := range r.leases { // they do not depend on each other
		if (l.app != m.App || l.owner != m.Owner) && l.class >= m.Class {
			delete(r.leases, l)
			found = found || now-launched <= longestLease
		}
	}
	if !found {
		return
	}
	waiting := sched.Message{Kind: sched.Tasks, Job: m.Job, Attempt: m.Attempt, Count: m.Count, Class: m.Class, App: m.App, Owner: m.Owner}
	r.envelope.Items = []wire.Item{{From: r.envelope.Sender, Msg: waiting}}
	data, err := r.codec.Append(nil, &r.envelope)
	if err == nil {
		err = r.publish(data)
	}
	if err != nil {
		r.log.Debug("the notice of waiting tasks was not published; leases end with their time", "error", err)
	}
}
