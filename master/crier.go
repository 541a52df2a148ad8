package master

import (
	"log/slog"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// crier tells the nodes of the group, by notice, of tasks that have to wait while
// applications may keep slots there under a lease: those leases are over then
// (docs/applications.md, The lease of a slot). A notice that is lost costs who
// waits the rest of the lease.
//
// It belongs to the owner goroutine.
type crier struct {
	log     *slog.Logger
	batch   wire.Batch // the envelope of every notice
	codec   *wire.Codec
	publish func(data []byte) error // nil without NATS

	// leases are what was launched while nobody else waited, and so may have a
	// lease, since tasks last had to wait for it.
	leases map[lease]bool
}

// lease is kept for all grants of an application and class together.
type lease struct {
	app   string
	class sched.Class
}

func newCrier(codec *wire.Codec, batch wire.Batch, log *slog.Logger) *crier {
	return &crier{log: log, batch: batch, codec: codec, leases: map[lease]bool{}}
}

// launched takes note of a launch for which nobody else waits.
func (c *crier) launched(m *sched.Message) {
	if c.publish != nil && m.App != "" {
		c.leases[lease{m.App, m.Class}] = true
	}
}

// mayHinder reports whether there may be leases at all.
func (c *crier) mayHinder() bool { return len(c.leases) > 0 }

// waits cries out that tasks wait, if a lease may be in their way: of another
// application, and not more urgent.
func (c *crier) waits(m *sched.Message) {
	found := false
	for l := range c.leases { // they do not depend on each other
		if l.app != m.App && l.class >= m.Class {
			delete(c.leases, l)
			found = true
		}
	}
	if !found {
		return
	}
	told := sched.Message{Kind: sched.Tasks, Job: m.Job, Attempt: m.Attempt, Count: m.Count, Class: m.Class, App: m.App}
	c.batch.Items = []wire.Item{{From: c.batch.Sender, Msg: told}}
	data, err := c.codec.Append(nil, &c.batch)
	if err == nil {
		err = c.publish(data)
	}
	if err != nil {
		c.log.Debug("nodes were not told that tasks wait; leases end with their time", "error", err)
	}
}
