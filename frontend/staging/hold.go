package staging

import (
	"context"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Hold keeps the files of a job that is being submitted, and then of the unfinished job.
type Hold struct {
	keeper *Keeper
	user   string
	files  []api.StagedFile
	counts []*file // by index of files: what counts this job, nil where the user did not have the file
	over   bool    // guarded by the keeper's lock
}

// Hold keeps the files of a job that is being submitted, nil for a job without. It is an error
// when the user has not sent all of them, or when they are not in the replica in a few seconds.
func (k *Keeper) Hold(ctx context.Context, user string, list []api.StagedFile) (*Hold, error) {
	if len(list) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to hold
	}
	if err := k.fits(list); err != nil {
		return nil, err
	}
	h := k.hold(user, list, false)
	for i := range list {
		if f := &list[i]; h.counts[i] == nil || !k.has(possession{user, f.SHA256}, f.Size) {
			h.Release()
			return nil, k.refusal(api.NotReady, fmt.Sprintf("the staged file %q has not arrived from %s", f.Name, named(user)), "send it first, as `pigeon submit --stage` does")
		}
	}
	if err := k.saved(ctx, list); err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// Accepted has the files held until the end of their job.
func (k *Keeper) Accepted(job sched.JobID, h *Hold) {
	if h == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[job] = h
}

// Restore holds the files of an unfinished job of the journal until its end.
func (k *Keeper) Restore(job sched.JobID, user string, list []api.StagedFile) {
	if len(list) > 0 {
		k.Accepted(job, k.hold(user, list, true))
	}
}

// Ended is called when the end of a job is on the disk.
func (k *Keeper) Ended(job sched.JobID) {
	k.mu.Lock()
	h := k.held[job]
	delete(k.held, job)
	k.mu.Unlock()
	h.Release()
}

// hold holds files. Restored says that the user had sent them to a process before.
func (k *Keeper) hold(user string, list []api.StagedFile, restored bool) *Hold {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := &Hold{keeper: k, user: user, files: list, counts: make([]*file, len(list))}
	for i := range list {
		f := list[i].File()
		p := possession{user, f.SHA256}
		known := k.known[p]
		if known == nil && restored {
			known = k.add(p)
			k.resize(user, known, &f)
		}
		if known != nil {
			known.jobs++
		}
		h.counts[i] = known
		k.uses[f.SHA256]++
	}
	return h
}

// Release ends a hold. It is safe twice, and on nil.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	k := h.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.over {
		return
	}
	h.over = true
	for i, known := range h.counts {
		if known != nil { // it is known as long as a job has it
			known.jobs--
			known.used = k.cfg.Now()
		}
		k.unuse(h.files[i].SHA256)
	}
}

// unuse ends one use of a content. It needs the lock.
func (k *Keeper) unuse(sha256 string) {
	if k.uses[sha256]--; k.uses[sha256] <= 0 {
		delete(k.uses, sha256)
	}
}
