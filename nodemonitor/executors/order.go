package executors

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var _ wire.ExecutorManager = (*Manager)(nil)

// OrderExecutors carries out an order of a frontend.
func (m *Manager) OrderExecutors(_ context.Context, o *wire.Order) (wire.OrderReply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.check(o); err != nil {
		return wire.OrderReply{}, err
	}
	a := m.apps[o.Application.ID]
	switch {
	case a == nil && o.Over:
		return wire.OrderReply{Accepted: true, Tenure: o.Tenure, Frontend: o.Frontend, Incarnation: o.Application.Incarnation}, nil
	case a == nil:
		a = m.admit(o)
	case a.over || a.Incarnation != o.Application.Incarnation || o.Tenure < a.tenure || o.Tenure == a.tenure && o.Frontend != a.frontend:
		return wire.OrderReply{Tenure: a.tenure, Frontend: a.frontend, Incarnation: a.Incarnation}, nil
	}
	if o.Tenure > a.tenure || o.Sequence >= a.sequence {
		m.follow(a, o)
	}
	a.lastContact = time.Now()
	return wire.OrderReply{Accepted: true, Tenure: a.tenure, Frontend: a.frontend, Incarnation: a.Incarnation}, nil
}

// check returns an error for an order that cannot be carried out. It needs the lock.
func (m *Manager) check(o *wire.Order) error {
	bad := func(p api.Problem, what, next string) error {
		return &api.Error{Problem: p, What: what, Subject: fmt.Sprintf("application %q at node %q", o.Application.ID, m.cfg.Node), Tried: "accepting an order of frontend " + o.Frontend, Next: next}
	}
	switch known := m.apps[o.Application.ID]; {
	case m.closed:
		return bad(api.NotReady, "the node monitor is stopping", "order elsewhere")
	case known != nil && known.Submitter != o.Application.Submitter:
		return bad(api.Denied, "the application of this id here is that of "+known.Submitter, "choose another id")
	case known == nil && !o.Over && len(m.apps) >= maxApplications:
		return bad(api.Busy, fmt.Sprintf("the node holds %d applications, its limit", maxApplications), "order elsewhere, or later")
	case len(o.Executors) > api.MaxExecutors || slices.ContainsFunc(o.Executors, func(id string) bool { return !api.IsApplicationID(id) }):
		return bad(api.Invalid, fmt.Sprintf("it names %d executors, the limit is %d, or one that can have no folder", len(o.Executors), api.MaxExecutors), "run the same version of pigeon on all hosts")
	}
	return nil
}

// admit adds an application. It needs the lock.
func (m *Manager) admit(o *wire.Order) *application {
	a := &application{
		Application: o.Application, executors: map[string]*executor{}, known: map[string]bool{},
		folder: m.cfg.Folder + "/" + o.Application.ID,
	}
	m.apps[a.ID] = a
	m.cfg.Logger.Info("an application may have executors here", "application", a.ID, "name", a.Name, "frontend", o.Frontend)
	return a
}

// follow carries out an order. It needs the lock.
func (m *Manager) follow(a *application, o *wire.Order) {
	if a.tenure != 0 && a.frontend != o.Frontend {
		m.cfg.Logger.Info("another frontend has taken an application over", "application", a.ID, "frontend", o.Frontend, "before", a.frontend)
	}
	a.frontend, a.address, a.tenure, a.sequence = o.Frontend, o.Address, o.Tenure, o.Sequence
	defer m.changed()
	if o.Over {
		m.end(a, "the application is over")
		return
	}
	for _, x := range a.executors {
		if !slices.Contains(o.Executors, x.id) {
			m.leave(x, "the application or its frontend does not need it any more")
		}
	}
	for _, id := range o.Executors {
		if n, err := strconv.Atoi(id); err == nil {
			a.last = max(a.last, n)
		}
		if x := a.executors[id]; x != nil {
			x.stay()
		} else if !a.known[id] {
			m.begin(a, id)
		}
	}
	a.forget(o)
}

// begin starts an executor, or refuses it. It needs the lock.
func (m *Manager) begin(a *application, id string) {
	a.known[id] = true
	x := &executor{
		app: a, id: id, token: rand.Text(), slots: a.Template.Slots, folder: a.folder + "/" + id, began: time.Now(),
		state: api.ExecutorState{ID: id, Node: m.cfg.Node, Host: m.cfg.Host, State: api.ExecutorStarting},
	}
	if x.slots == 0 {
		x.slots = m.cfg.Slots
	}
	if m.cfg.Web != "" {
		base := fmt.Sprintf("%s/applications/%s/%s/", m.cfg.Web, a.ID, id)
		x.state.Stdout, x.state.Stderr = base+"stdout", base+"stderr"
	}
	if m.draining != "" {
		m.keepEnd(x, end{reason: m.draining, refused: true, forNow: true})
		return
	}
	if err := m.apps.checkRoom(&m.cfg, a, x); err != nil {
		m.keepEnd(x, end{reason: err.Error(), refused: true, forNow: true})
		return
	}
	a.executors[id] = x
	m.living++
	ctx, cancel := context.WithCancel(m.ctx)
	x.cancel = cancel
	m.work.Go(func() { m.start(ctx, x) })
}
