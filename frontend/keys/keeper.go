package keys

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// tries bounds how often a write is repeated when another frontend's write came first.
const tries = 5

// Options are what a [Keeper] needs.
type Options struct {
	Self  Home
	Store Store
	// Ask returns what the frontend of that name, wherever it serves now, knows of the job
	// under the key, and where it serves.
	Ask func(ctx context.Context, h Home, key string) (answer Knowledge, address string)
	// Unfinished reports whether this frontend has an unfinished job under the key. It may be
	// called from anywhere.
	Unfinished func(key string) bool
}

// Keeper is the keys of one frontend. It may be used from anywhere.
type Keeper struct {
	opts Options

	mu        sync.Mutex
	accepting map[string]int    // submissions in progress
	held      map[string]uint64 // keys of unfinished jobs, with the revision of the last write
}

// New returns a keeper without keys.
func New(o Options) *Keeper {
	return &Keeper{opts: o, accepting: map[string]int{}, held: map[string]uint64{}}
}

// Accepting reports whether a submission under the key is in progress, so that the job may
// become known at any moment. A caller asks this before it answers that a job is not known.
func (k *Keeper) Accepting(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.accepting[key] > 0
}

// Take makes this frontend the home of a key, or returns an *api.Error that names the frontend
// that has the job. accepted must be called once, when the job is known here or was refused.
func (k *Keeper) Take(ctx context.Context, key string) (accepted func(bool), err error) {
	k.mu.Lock()
	k.accepting[key]++
	k.mu.Unlock()
	revision, err := k.take(ctx, key)
	accepted = func(known bool) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.accepting[key]--; k.accepting[key] == 0 {
			delete(k.accepting, key)
		}
		if known {
			k.held[key] = revision
		}
	}
	if err != nil {
		accepted(false)
		return nil, err
	}
	return accepted, nil
}

// take returns the revision of the write by which this frontend became the home of the key.
func (k *Keeper) take(ctx context.Context, key string) (revision uint64, err error) {
	after := uint64(0)
	for range tries {
		if revision, err = k.opts.Store.Put(ctx, key, k.opts.Self, after); err == nil {
			return revision, nil
		}
		if !errors.Is(err, ErrConflict) {
			return 0, k.unready(key, err)
		}
		if after, err = k.replaceable(ctx, key); err != nil {
			return 0, err
		}
	}
	return 0, &api.Error{Problem: api.NotReady, What: "several frontends are taking the key", Subject: fmt.Sprintf("job %q", key),
		Tried: "becoming its home; nothing was accepted", Next: "submit it again with the same key", RetryAfter: time.Second}
}

// replaceable returns the revision of the home of a key that this frontend may replace, 0 when
// it has none any more, or why it may not.
func (k *Keeper) replaceable(ctx context.Context, key string) (uint64, error) {
	h, revision, found, err := k.opts.Store.Get(ctx, key)
	if err != nil {
		return 0, k.unready(key, err)
	}
	if !found {
		return 0, nil
	}
	answer, address := Unasked, ""
	for {
		switch decide(k.opts.Self.Frontend, h, answer) {
		case askHome:
			answer, address = k.opts.Ask(ctx, h, key)
		case write:
			return revision, nil
		case refuse:
			return 0, elsewhere(h.Frontend, address, key, "accepting it here; nothing was accepted")
		default:
			return 0, silent(h.Frontend, address, key, "accepting it here; nothing was accepted")
		}
	}
}

// Find returns where the job under a key is, as an *api.Error with the address, when another
// frontend is the home of the key, and nil otherwise. When the store does not answer, the
// error reports that.
func (k *Keeper) Find(ctx context.Context, key string) error {
	h, _, found, err := k.opts.Store.Get(ctx, key)
	switch {
	case err != nil:
		return k.unready(key, err)
	case !found || h.Frontend == k.opts.Self.Frontend:
		return nil
	}
	const tried = "looking for it here"
	switch answer, address := k.opts.Ask(ctx, h, key); answer {
	case Ignorant:
		return nil // it left the key without a job
	case Silent:
		return silent(h.Frontend, address, key, tried)
	default:
		return elsewhere(h.Frontend, address, key, tried)
	}
}

func silent(frontend, address, key, tried string) error {
	return &api.Error{Problem: api.NotReady, What: fmt.Sprintf("its key leads to frontend %q at %s, which does not say whether it has the job", frontend, address), Subject: fmt.Sprintf("job %q", key),
		Tried: tried, Next: "try again, or start that frontend or a standby of it", RetryAfter: time.Second, Address: address}
}

func elsewhere(frontend, address, key, tried string) error {
	return &api.Error{Problem: api.NotFound, What: fmt.Sprintf("frontend %q at %s has it", frontend, address), Subject: fmt.Sprintf("job %q", key),
		Tried: tried, Next: "ask there", Address: address}
}

func (k *Keeper) unready(key string, err error) error {
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return refused
	}
	return &api.Error{Problem: api.NotReady, What: "the bucket of keys does not answer: " + err.Error(), Subject: fmt.Sprintf("job %q", key),
		Tried: "looking up who has its key; nothing was accepted", Next: "submit it again with the same key when more than half of the NATS servers run", RetryAfter: time.Second}
}
