package frontend

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// newEvents makes the ring of this process's events.
func (f *Frontend) newEvents() {
	counts := map[string]prometheus.Counter{}
	for i, t := range api.EventTypes() {
		counts[t] = f.metrics.events[i]
	}
	f.events = events.New(events.Options{
		Frontend: f.cfg.ID, Limit: f.cfg.EventLimit, Bytes: f.cfg.EventBytes, Readers: f.cfg.EventReaders,
		Counts: counts,
	})
}

// publishStart publishes that this process serves, with what it found in the journal.
func (f *Frontend) publishStart(rep *journal.Report) {
	f.events.Publish(api.Event{
		Type: api.EventFrontendStarted, Severity: api.SeverityInfo,
		Message: fmt.Sprintf("frontend %s was started, with %s in its journal; events of the process before are not kept", f.cfg.ID, sched.Count(rep.Jobs, "unfinished job", "unfinished jobs")),
	})
}

// nodeEvent publishes what a user has done to a node.
func (srv *schedulerService) nodeEvent(ctx context.Context, eventType, node, what string) {
	srv.events.Publish(api.Event{
		Type: eventType, Severity: api.SeverityInfo, Node: node,
		Message: fmt.Sprintf("node %s %s, by %s", node, what, identity.From(ctx)),
	})
}

// Events returns what happened here, as the caller may see it. A stopping frontend answers at
// once.
func (srv *schedulerService) Events(ctx context.Context, q api.EventQuery) (api.EventPage, error) {
	if err := q.Validate(); err != nil {
		return api.EventPage{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-srv.stopping:
			cancel()
		case <-stopped:
		}
	}()
	p := identity.From(ctx)
	user := ""
	if p.Role == identity.User {
		user = p.Name
	}
	return srv.events.Read(ctx, user, &q, func(e *api.Event) (api.Event, bool) { return access.ShownEvent(p, e) })
}
