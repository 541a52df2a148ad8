package master

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master/nodes"
)

// publication publishes the membership as fast as its readers allow. It belongs to the
// owner goroutine, except its publisher.
type publication struct {
	publisher *membership.Publisher
	pace      protocol.Pace
	now       func() sched.Time
	post      func(func()) // runs a function on the owner goroutine, which then flushes
}

func newPublication(c Config, incarnation int64, now func() sched.Time, post func(func())) *publication {
	return &publication{now: now, post: post, publisher: membership.NewPublisher(membership.PublisherOptions{
		Name: c.name(), Incarnation: incarnation, LostAfter: c.LostAfter, Now: now,
	})}
}

// changed is called when the membership has changed.
func (p *publication) changed() { p.pace.Changed() }

// publish publishes the membership when it has changed: at once when the last change was
// long ago.
func (p *publication) publish(n *nodes.Nodes, f *frontends) {
	due, wait := p.pace.Next(n.Len()+f.len(), p.now())
	if due {
		p.publisher.Publish(n.Members(), f.members())
	}
	if wait > 0 {
		time.AfterFunc(time.Duration(wait), func() { p.post(p.pace.Elapsed) }) // the flush that follows publishes
	}
}

func (p *publication) close() { p.publisher.Close() }
