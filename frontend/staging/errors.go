package staging

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// refusal is for the files of a job that are not taken.
func (k *Keeper) refusal(p api.Problem, what, next string) error {
	e := &api.Error{Problem: p, What: what, Subject: "staged files at frontend " + k.cfg.Frontend, Tried: "taking them for a job; nothing was accepted", Next: next}
	if p == api.Busy {
		e.RetryAfter = time.Second
	}
	return e
}

// unfetched is the answer to a node that asks for a file that is not here.
func (k *Keeper) unfetched(p api.Problem, what, next string) error {
	return &api.Error{Problem: p, What: what, Subject: "staged files at frontend " + k.cfg.Frontend, Tried: "giving it to a node", Next: next}
}
