package keys

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// tries bounds how often a write is repeated when another one came first.
	tries = 5
	// renewers bounds the renewals that are in progress at a time.
	renewers = 16
)

// Options are what a [Keeper] needs.
type Options struct {
	Self  Home
	Store Store
	// Address returns where the frontend of a home serves now.
	Address func(context.Context, Home) string
	// Unfinished reports whether this frontend has an unfinished job under the key. It may be
	// called from anywhere.
	Unfinished func(key string) bool
}

// Keeper is the keys of one frontend. It may be used from anywhere.
type Keeper struct {
	opts Options

	mu   sync.Mutex
	held map[string]struct{} // keys of unfinished jobs
}

// New returns a keeper without keys.
func New(o Options) *Keeper { return &Keeper{opts: o, held: map[string]struct{}{}} }

// Take makes this frontend the home of a key, or returns an *api.Error with the address of the
// frontend that is. Only after it has returned without an error may a job be accepted under the key.
func (k *Keeper) Take(ctx context.Context, key string) error {
	after := uint64(0)
	for range tries {
		err := k.opts.Store.Put(ctx, key, k.opts.Self, after)
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			return unready(key, err)
		}
		if after, err = k.own(ctx, key, "accepting it here; nothing was accepted"); err != nil {
			return err
		}
	}
	return contended(key)
}

// own returns the revision of the home of a key, 0 when it has none, or an error when another frontend is.
func (k *Keeper) own(ctx context.Context, key, tried string) (revision uint64, err error) {
	h, revision, err := k.opts.Store.Get(ctx, key)
	switch {
	case err != nil:
		return 0, unready(key, err)
	case revision != 0 && h.Frontend != k.opts.Self.Frontend:
		return 0, elsewhere(h.Frontend, k.opts.Address(ctx, h), key, tried)
	}
	return revision, nil
}

// Find returns an *api.Error with the address of the home of a key when that is another frontend,
// or when the store does not answer, and nil otherwise.
func (k *Keeper) Find(ctx context.Context, key string) error {
	_, err := k.own(ctx, key, "looking for it here")
	return err
}

// Hold enters the key of an unfinished job that this frontend has accepted.
func (k *Keeper) Hold(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[key] = struct{}{}
}

// Run renews the held keys four times in their lifetime until ctx ends.
func (k *Keeper) Run(ctx context.Context, lifetime time.Duration, log *slog.Logger) {
	t := time.NewTicker(lifetime / 4)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			k.Renew(ctx, log)
		case <-ctx.Done():
			return
		}
	}
}

// Renew writes the held keys again, for the last time those of jobs that have ended.
func (k *Keeper) Renew(ctx context.Context, log *slog.Logger) {
	k.mu.Lock()
	held := slices.Collect(maps.Keys(k.held))
	k.mu.Unlock()
	places := make(chan struct{}, renewers)
	var all sync.WaitGroup
	for _, key := range held {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if k.renew(ctx, log, key) {
				k.mu.Lock()
				defer k.mu.Unlock()
				delete(k.held, key)
			}
		})
	}
	all.Wait()
}

// renew writes one key again. It reports whether that was the last time.
func (k *Keeper) renew(ctx context.Context, log *slog.Logger, key string) (last bool) {
	last = !k.opts.Unfinished(key)
	h, revision, err := k.opts.Store.Get(ctx, key)
	if err == nil && revision != 0 && h.Frontend != k.opts.Self.Frontend {
		log.Error("a key of an unfinished job has another home; it lapsed while this frontend was away, and a job may run twice", "job", key, "home", h.Frontend)
		return true
	}
	if err == nil {
		err = k.opts.Store.Put(ctx, key, k.opts.Self, revision)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrConflict) { // in a conflict, a submission has written it
		log.Warn("a key was not renewed; it is tried again", "job", key, "error", err)
	}
	return last && err == nil
}
