package membership

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of the requests that wait for a change.
const (
	maxWaiting = 8192
	maxWait    = 30 * time.Second
)

// PublisherOptions are the settings of a [Publisher].
type PublisherOptions struct {
	Name        string // of the daemon in errors: "master of group 0"
	Incarnation int64
	// LostAfter is how long the daemons of an earlier master have to register with this
	// one before the followers of the earlier one are answered.
	LostAfter time.Duration
	Now       func() sched.Time // from any goroutine
}

// Publisher publishes a master's membership. It is safe for concurrent use.
type Publisher struct {
	opts   PublisherOptions
	closed chan struct{}

	mu          sync.Mutex
	publication protocol.Publication
	current     wire.Membership // its lists are never changed
	changed     chan struct{}   // closed when another membership is published
	waiting     int
}

var _ wire.MembershipSource = (*Publisher)(nil)

// NewPublisher returns a publisher of an empty membership.
func NewPublisher(o PublisherOptions) *Publisher {
	p := &Publisher{
		opts: o, closed: make(chan struct{}), changed: make(chan struct{}),
		publication: protocol.NewPublication(o.Incarnation, sched.Time(o.LostAfter), o.Now()),
	}
	p.stamp()
	return p
}

func (p *Publisher) stamp() {
	at := p.publication.Position()
	p.current.Incarnation, p.current.Version = at.Incarnation, at.Version
}

// Begin starts the time in which the daemons of an earlier master may register. It is called
// before the first answer, by a master that was a standby until now.
func (p *Publisher) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publication = protocol.NewPublication(p.opts.Incarnation, sched.Time(p.opts.LostAfter), p.opts.Now())
	p.stamp()
}

// Publish publishes another membership under the next version. The lists belong to the
// publisher from then on.
func (p *Publisher) Publish(nodes []wire.MemberNode, frontends []wire.MemberFrontend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publication.Publish()
	p.current.Nodes, p.current.Frontends = nodes, frontends
	p.stamp()
	close(p.changed)
	p.changed = make(chan struct{})
}

// Membership implements [wire.MembershipSource]: it returns the membership as soon as it
// is another than the one named, or after the wait.
func (p *Publisher) Membership(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Membership, error) {
	wait = min(wait, maxWait)
	have := protocol.Position{Incarnation: incarnation, Version: version}
	if held := p.held(have); held > 0 {
		if err := p.await(ctx, nil, min(held, wait)); err != nil || held > wait {
			return wire.Membership{Incarnation: incarnation, Version: version}, err // as before
		}
	}
	m, changed := p.get()
	if m.Incarnation != incarnation || m.Version != version || wait <= 0 {
		return m, nil
	}
	if err := p.await(ctx, changed, wait); err != nil {
		return wire.Membership{}, err
	}
	return p.Get(), nil
}

// Get returns what is published now.
func (p *Publisher) Get() wire.Membership {
	m, _ := p.get()
	return m
}

func (p *Publisher) get() (wire.Membership, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current, p.changed
}

func (p *Publisher) held(have protocol.Position) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.publication.Held(have, p.opts.Now()))
}

// await waits for a change, as one of a bounded number.
func (p *Publisher) await(ctx context.Context, changed <-chan struct{}, wait time.Duration) error {
	if !p.enter() {
		return &api.Error{
			Problem: api.Busy, What: fmt.Sprintf("%d questions for the membership wait already, which is the limit", maxWaiting),
			Subject: p.opts.Name, Tried: "waiting for another membership", Next: "ask again", RetryAfter: time.Second,
		}
	}
	defer p.leave()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return &api.Error{
			Problem: api.NotReady, What: "the master is stopping", Subject: p.opts.Name,
			Tried: "waiting for another membership", Next: "ask the master that comes after it",
		}
	}
	return nil
}

func (p *Publisher) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting >= maxWaiting {
		return false
	}
	p.waiting++
	return true
}

func (p *Publisher) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
}

// Close ends every wait, now and later. It may be called once.
func (p *Publisher) Close() { close(p.closed) }
