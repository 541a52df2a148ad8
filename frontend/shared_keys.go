package frontend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/keys"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// leastKeyLifetime is how long a key without a job is kept at least: longer than any submission
// takes.
const leastKeyLifetime = 10 * time.Minute

// keyLifetime returns how long a key is kept after it was written.
func (c *Config) keyLifetime() time.Duration { return max(c.Retention, leastKeyLifetime) }

// openBuckets opens the bucket of keys and that of leaderships, and tries again while the
// servers cannot be reached.
func (f *Frontend) openBuckets(ctx context.Context, servers *jetstore.Store) (store keys.Store, leaders leadership.Store, err error) {
	for logged := false; ; {
		try, cancel := context.WithTimeout(ctx, openPatience)
		if store, err = keys.Open(try, servers, f.cfg.keyLifetime()); err == nil {
			leaders, err = servers.Leadership(try)
		}
		cancel()
		if e, refused := errors.AsType[*api.Error](err); err == nil || ctx.Err() != nil || refused && e.Problem == api.Invalid {
			return store, leaders, err
		}
		if !logged {
			logged = true
			f.log.Warn("the bucket of keys cannot be opened; it is tried again", "error", err)
		}
		if !delay.For(ctx, followEvery) {
			return nil, nil, ctx.Err()
		}
	}
}

// shareKeys makes idempotency keys those of the whole cluster, before the frontend serves. It
// returns the store of leaderships, which their homes are looked up in.
func (f *Frontend) shareKeys(ctx context.Context, servers *jetstore.Store) (leadership.Store, error) {
	store, leaders, err := f.openBuckets(ctx, servers)
	if err != nil {
		return nil, err
	}
	f.service.keys = keys.New(keys.Options{
		Self: keys.Home{Frontend: f.cfg.ID, Address: f.Addr()}, Store: store,
		Address: func(ctx context.Context, h keys.Home) string {
			if r, _, found, err := leaders.Get(ctx, leaderName(h.Frontend)); err == nil && found && r.Address != "" {
				return r.Address
			}
			return h.Address
		},
		Unfinished: func(key string) bool {
			known, err := f.service.journal.Lookup(sched.NewJobID(f.service.scope, key))
			return err != nil || known.Live
		},
	})
	return leaders, nil
}

// renewKeys renews the keys of unfinished jobs.
func (f *Frontend) renewKeys(ctx context.Context) {
	if k := f.service.keys; k != nil {
		k.Run(ctx, f.cfg.keyLifetime(), f.log)
	}
}

// takeKey makes this frontend the home of the key of a job that it does not know, where keys are
// those of the whole cluster (shared) and the client may ask any frontend. A job that would be refused
// now leaves no key: the records of keys are in a bucket of the whole cluster, and stay there. A refusal
// is counted.
func (srv *schedulerService) takeKey(ctx context.Context, sub *journal.Submission) (shared bool, err error) {
	r := &sub.Request
	if srv.keys == nil || r.Frontend != "" {
		return false, nil
	}
	v, err := daemon.Ask(ctx, srv.mailbox, fmt.Sprintf("accepting job %q", r.Key), func() verdict { return srv.submissions.judge(sub, nil) })
	if err != nil {
		return false, err
	}
	if v.err == nil {
		err = srv.keys.Take(ctx, r.Key)
	} else {
		err = srv.keys.Find(ctx, r.Key) // a repetition learns which frontend has the job
	}
	switch {
	case err != nil:
		srv.submissions.refuse("key", sub)
		return false, err
	case v.err != nil:
		srv.submissions.refuse(v.reason, sub)
		return false, v.err
	}
	return true, nil
}

// unknown returns the error for a job that this frontend does not have: where it is, if that is
// known.
func (srv *schedulerService) unknown(ctx context.Context, job string, plain *api.Error) error {
	if srv.keys != nil {
		if err := srv.keys.Find(ctx, job); err != nil {
			return err
		}
	}
	return plain
}
