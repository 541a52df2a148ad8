package process

import (
	"context"
	"errors"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/nodemonitor/disk"
	"github.com/pigeon-sched/pigeon/nodemonitor/staging"
)

// Why the preparation of an attempt ends before the guard has it.
var (
	errKilled    = errors.New("it was killed")
	errLeft      = errors.New("its node monitor is restarting")
	errGivenBack = errors.New("it was given back")
)

// preparation is what is done for an attempt, on a goroutine of its own, before the guard has it: its user is
// looked up, the folder of its job is made, and the files that were sent with it are brought. The disk may hang
// meanwhile. Whoever ends it reports the end of the attempt at once, and nothing of it begins. The backend's
// lock guards its state.
//
//	making the folder ──▶ bringing files ──▶ launched, and suspended again if it was meanwhile
//	        │               │ ▲              (the guard has it)
//	        │               │ └─suspended with all files there: it waits until it is resumed
//	        └───────────────┴──killed, left, given back, a fault──▶ ended
type preparation struct {
	end       context.CancelCauseFunc
	over      chan struct{} // closed when the guard has it, or its end was reported
	suspended bool
	resumed   chan struct{} // closed by resume; made by suspend
}

func (p *preparation) suspend() {
	if !p.suspended {
		p.suspended, p.resumed = true, make(chan struct{})
	}
}

func (p *preparation) resume() {
	if p.suspended {
		p.suspended = false
		close(p.resumed)
	}
}

// whilePrepared calls do with the preparation of an attempt, unless the guard has it or it is not known.
func (b *Backend) whilePrepared(id sched.AttemptID, do func(*preparation)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.runs[id]
	if r == nil || r.preparing == nil {
		return false
	}
	do(r.preparing)
	return true
}

// prepare prepares an attempt and then has its process started; made says that the folder of its job is
// there. The lock is held.
func (b *Backend) prepare(r *run, paths logs.Files, made bool) {
	ctx, end := context.WithCancelCause(context.Background())
	over := make(chan struct{})
	r.preparing = &preparation{end: end, over: over}
	b.runs[r.task.ID] = r
	b.aside.Go(func() {
		defer close(over)
		defer end(nil)
		spec, failed := r.prepared(ctx, paths, made)
		if result, over := r.begin(ctx, spec, failed); over {
			b.ended(r, result, false)
		}
	})
}

// prepared returns what the guard is to start once everything is there, or how the attempt ends without.
func (r *run) prepared(ctx context.Context, paths logs.Files, made bool) (spec guard.Spec, failed *backend.Result) {
	as, f := r.b.cfg.Accounts.Of(r.task.Payload.Submitter)
	if f != nil {
		res := r.notAllowed(f)
		return spec, &res
	}
	if !made {
		if failed = r.makeFolder(); failed != nil {
			return spec, failed
		}
	}
	if spec = r.spec(paths, as); r.isStaged() {
		spec.Spare = "" // the folder is there before the process
		r.b.cfg.Logs.NotTaken(r.spare)
		failed = r.bring(ctx, &spec)
	}
	return spec, failed
}

// awaitAll waits for preparations, at most for as long as a disk may take to answer.
func awaitAll(list []*preparation) {
	enough := time.After(disk.DefaultPatience)
	for _, p := range list {
		select {
		case <-p.over:
		case <-enough:
			return
		}
	}
}

// isStaged reports whether files were sent with the attempt.
func (r *run) isStaged() bool { return len(r.task.Payload.Stage) > 0 }

// makeFolder makes the folder of the attempt's job, or returns how the attempt ends without.
func (r *run) makeFolder() *backend.Result {
	err := r.b.makeJob(r.task.ID)
	if err != nil && r.b.cfg.Disk.Look() == "" { // room may have been made meanwhile
		err = r.b.makeJob(r.task.ID)
	}
	if err == nil {
		return nil
	}
	fault := &guard.Fault{What: "there is no room for its logs: " + err.Error(), Next: "free disk space on the node, or have logs kept for less time"}
	if guard.IsShortage(err) {
		fault = guard.FaultOf("the folder of its job could not be made", err)
	}
	res := r.neverBegan(fault)
	return &res
}

// bring brings the files of the attempt, or returns how it ends without.
func (r *run) bring(ctx context.Context, spec *guard.Spec) *backend.Result {
	p := &staging.Place{Folder: spec.Dir}
	if as := spec.As; as != nil {
		p.Others, p.UID, p.GID = true, int(as.UID), int(as.GID)
	}
	r.staged = p
	f := r.b.cfg.Staged.Bring(ctx, r.task.FrontendPeer, r.task.Payload.Stage, p)
	if f == nil || ctx.Err() != nil {
		return nil
	}
	fault := &guard.Fault{What: f.What, Next: f.Next}
	var res backend.Result
	if f.Passes { // it is given back, and counts for nothing
		res = r.failed(fault)
		res.Outcome = sched.Yielded
	} else {
		res = r.neverBegan(fault)
	}
	return &res
}

// begin passes a prepared process to the guard, or returns how the attempt ended before. One whose files
// were brought waits while it is suspended.
func (r *run) begin(ctx context.Context, spec guard.Spec, failed *backend.Result) (result backend.Result, over bool) {
	b := r.b
	b.mu.Lock()
	for failed == nil && r.isStaged() && r.preparing.suspended && ctx.Err() == nil {
		resumed := r.preparing.resumed
		b.mu.Unlock()
		select {
		case <-resumed:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil: // its end was reported
		return backend.Result{}, true
	case failed != nil:
		return *failed, true
	}
	if f := r.launch(spec); f != nil {
		return r.failed(f), true
	}
	if r.preparing.suspended {
		r.guard.Suspend(r.handle)
	}
	r.preparing = nil
	return backend.Result{}, false
}
