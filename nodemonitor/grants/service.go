package grants

import (
	"context"
	"crypto/subtle"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var _ wire.Granter = (*Table)(nil)

// maxWait bounds a wait for grants, maxGiveBack the grants that one answer names, and
// maxEnds those that one call ends.
const (
	maxWait     = time.Minute
	maxGiveBack = 1000
	maxEnds     = 100_000
)

// AttachExecutor lets an executor receive grants, as many at once as it has slots. It is
// safe to repeat, which an executor does after it has lost its connection: an answer that named
// grants to be returned may have been lost with it, so the next one names them again, and a call
// that still waits on the former connection takes nothing from it.
func (t *Table) AttachExecutor(_ context.Context, id wire.ExecutorID, slots int) (err error) {
	t.update(func(*ends) {
		var x *executor
		if x, err = t.find(id, "attaching it"); err != nil {
			return
		}
		if slots < 1 || slots > api.MaxTasks {
			err = t.bad(id, api.Invalid, fmt.Sprintf("it has %d slots", slots), "attaching it", fmt.Sprintf("use 1 to %d", api.MaxTasks))
			return
		}
		a := t.assignments.apps[id.Application]
		if x.order == 0 {
			a.attached++
			x.order = a.attached
		}
		x.attachments++
		x.slots, x.unresponsive, x.giveBack = slots, false, true
		x.wakeUp()
		t.assignments.assign(a)
	})
	return err
}

// find returns the calling executor. It needs the lock.
func (t *Table) find(id wire.ExecutorID, tried string) (*executor, error) {
	if t.closed {
		return nil, t.bad(id, api.NotReady, "the node monitor is stopping", tried, "end; a new executor is started elsewhere")
	}
	a := t.assignments.apps[id.Application]
	if a == nil || a.executors[id.Executor] == nil {
		return nil, t.bad(id, api.NotFound, "no such executor was started here, or it was stopped", tried, "end; a new executor has a new id")
	}
	x := a.executors[id.Executor]
	if subtle.ConstantTimeCompare([]byte(x.token), []byte(id.Token)) != 1 {
		return nil, t.bad(id, api.Invalid, "its token is not the one it was started with", tried, "pass on {{TOKEN}} of its template as it is")
	}
	return x, nil
}

func (t *Table) bad(id wire.ExecutorID, p api.Problem, what, tried, next string) error {
	return &api.Error{
		Problem: p, What: what, Subject: fmt.Sprintf("executor %.64q of application %.64q at node %q", id.Executor, id.Application, t.cfg.Node), Tried: tried, Next: next,
	}
}

// AwaitGrants acknowledges the grants up to after, and returns those behind it as soon
// as there are any, or some must be returned, or the wait is over.
func (t *Table) AwaitGrants(ctx context.Context, id wire.ExecutorID, after int64, wait time.Duration) (g api.Grants, err error) {
	timer := time.NewTimer(min(max(wait, 0), maxWait))
	defer timer.Stop()
	for attachment := uint64(0); ; {
		wake, err := t.poll(id, after, &attachment, &g)
		if err != nil || wake == nil {
			return g, err
		}
		select {
		case <-wake:
		case <-timer.C:
			return g, nil
		case <-ctx.Done():
			return g, nil // the caller has left; the grants are answered again
		}
	}
}

// poll fills in what there is for the executor; with nothing it returns the channel that
// is closed at the next change. attachment is the one during which the call began, 0 at its
// beginning.
func (t *Table) poll(id wire.ExecutorID, after int64, attachment *uint64, out *api.Grants) (wake <-chan struct{}, err error) {
	t.mu.Lock()
	if x, err := t.find(id, "waiting for grants"); err != nil || !x.unresponsive {
		defer t.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return t.assignments.answer(x, after, attachment, out), nil
	}
	t.mu.Unlock()
	t.update(func(*ends) {
		var x *executor
		if x, err = t.find(id, "waiting for grants"); err == nil {
			x.unresponsive = false // it polls again
			t.assignments.assign(t.assignments.apps[id.Application])
			wake = t.assignments.answer(x, after, attachment, out)
		}
	})
	return wake, err
}

// EndGrants frees the slots of grants. Grants that are not held are ignored: they have
// ended before.
func (t *Table) EndGrants(_ context.Context, id wire.ExecutorID, list []api.GrantEnd) (err error) {
	if len(list) > maxEnds {
		return t.bad(id, api.Invalid, fmt.Sprintf("it ends %d grants at once", len(list)), "ending grants", fmt.Sprintf("end at most %d at once", maxEnds))
	}
	t.update(func(e *ends) {
		var x *executor
		if x, err = t.find(id, "ending grants"); err != nil {
			return
		}
		byName := make(map[string]*grant, len(x.held))
		for _, g := range x.held {
			byName[g.task.ID.String()] = g
		}
		for _, end := range list {
			if g := byName[end.ID]; g != nil && g.answered {
				delete(byName, end.ID)
				t.assignments.ended(e, g, end)
			}
		}
		t.assignments.assign(t.assignments.apps[id.Application])
	})
	return err
}
