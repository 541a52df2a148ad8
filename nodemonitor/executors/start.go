package executors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// start prepares an executor and starts its process. It runs without the lock; the
// template of an application does not change.
func (m *Manager) start(ctx context.Context, x *executor) {
	p := &preparation{cfg: &m.cfg, roots: m.folders.locals, x: x, address: func() string {
		m.mu.Lock()
		defer m.mu.Unlock()
		return x.app.address
	}}
	spec, refused := p.run(ctx)
	if refused == nil && !x.app.Grants {
		refused = m.hold(ctx, x)
	}
	if refused != nil {
		m.ended(x, *refused)
		return
	}
	if x.app.Grants {
		m.cfg.Table.Admit(x.app.ID, x.id, x.token)
	}
	m.mu.Lock()
	var err error
	stopped := x.stopping != ""
	if !stopped {
		x.began = time.Now()
		x.handle, err = m.cfg.Guard.Start(spec, func(e guard.Event) { m.event(x, e) })
		x.process = err == nil
	}
	m.mu.Unlock()
	switch {
	case stopped:
		m.ended(x, end{reason: "it was stopped before it began"})
	case err != nil:
		e := x.refusal("its process was not started: "+err.Error(), "starting it", "raise the node's max_processes, or wait for other processes to end")
		e.forNow = errors.Is(err, guard.ErrFull)
		m.ended(x, *e)
	}
}

// hold waits until the executor has its slots.
func (m *Manager) hold(ctx context.Context, x *executor) *end {
	full := make(chan struct{})
	m.cfg.Holds.Hold(x.app.ID, x.id, x.slots, func() { close(full) })
	m.mu.Lock()
	x.state.Reason = fmt.Sprintf("it waits for %d slots of node %q", x.slots, m.cfg.Node)
	m.changed()
	m.mu.Unlock()
	select {
	case <-full:
		return nil
	case <-ctx.Done():
		return &end{reason: "it was stopped before it had its slots"}
	}
}
