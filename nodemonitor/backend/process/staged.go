package process

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/staging"
)

// Why the start of an attempt ends before the guard has it.
var (
	errKilled = errors.New("it was killed")
	errLeft   = errors.New("its node monitor is restarting")
)

// stagedStart is the start of an attempt whose files are being brought. The backend's lock guards
// its state.
//
//	bringing ──all there, not suspended──▶ launched
//	   │ ▲                                (the guard has it)
//	   │ └─suspended, resumed: it waits
//	   └──killed, left, a fault──▶ ended
type stagedStart struct {
	end       context.CancelCauseFunc
	suspended bool
	resumed   chan struct{} // closed by resume; made by suspend
}

func (s *stagedStart) suspend() {
	if !s.suspended {
		s.suspended, s.resumed = true, make(chan struct{})
	}
}

func (s *stagedStart) resume() {
	if s.suspended {
		s.suspended = false
		close(s.resumed)
	}
}

// whileStaged calls do with the start of an attempt, unless the guard has it or it is not known.
func (b *Backend) whileStaged(id sched.AttemptID, do func(*stagedStart)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.runs[id]
	if r == nil || r.staged == nil {
		return false
	}
	do(r.staged)
	return true
}

// stage has the files of an attempt brought, on a goroutine of its own, and then its process
// started. The lock is held.
func (b *Backend) stage(r *run, spec guard.Spec) {
	ctx, end := context.WithCancelCause(context.Background())
	r.staged = &stagedStart{end: end}
	b.runs[r.task.ID] = r
	spec.Spare = "" // the folder is there before the process
	b.cfg.Logs.NotTaken(r.spare)
	b.stagings.Go(func() {
		defer end(nil)
		p := &staging.Place{Folder: spec.Dir}
		if as := spec.As; as != nil {
			p.Others, p.UID, p.GID = true, int(as.UID), int(as.GID)
		}
		f := b.cfg.Staged.Bring(ctx, r.task.FrontendPeer, r.task.Payload.Stage, p)
		if result, over := r.startStaged(ctx, spec, f); over {
			b.ended(r, result, false)
		}
	})
}

// startStaged passes the process to the guard when its files are there, or returns how it ended
// before. A suspended one waits.
func (r *run) startStaged(ctx context.Context, spec guard.Spec, f *staging.Fault) (result backend.Result, over bool) {
	b := r.b
	b.mu.Lock()
	for f == nil && r.staged.suspended && ctx.Err() == nil {
		resumed := r.staged.resumed
		b.mu.Unlock()
		select {
		case <-resumed:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errLeft):
		return backend.Result{ID: r.task.ID, Outcome: sched.Yielded, Reason: cause.Error()}, true
	case cause != nil:
		result = backend.Result{ID: r.task.ID, Outcome: sched.Killed}
		if b.closed {
			result.Reason = backend.Stopping
		}
		return result, true
	case f != nil:
		result = r.neverBegan(&guard.Fault{What: f.What, Next: f.Next})
		if f.Passes { // it is given back, and counts for nothing
			result.Outcome = sched.Yielded
		}
		return result, true
	}
	if f := r.launch(spec); f != nil {
		return r.failed(f), true
	}
	r.staged = nil
	return backend.Result{}, false
}
