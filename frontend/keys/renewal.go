package keys

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// renewers bounds the writes of a renewal that are in progress at a time.
const renewers = 16

// Hold enters the key of an unfinished job that this frontend has accepted before.
func (k *Keeper) Hold(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.held[key]; !known {
		k.held[key] = 0
	}
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
	held := maps.Clone(k.held)
	k.mu.Unlock()
	places := make(chan struct{}, renewers)
	var all sync.WaitGroup
	for key, revision := range held {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			k.renew(ctx, log, key, revision)
		})
	}
	all.Wait()
}

// drop forgets a key that belongs to another frontend.
func (k *Keeper) drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, key)
}

// renew writes one key again.
func (k *Keeper) renew(ctx context.Context, log *slog.Logger, key string, revision uint64) {
	last := !k.opts.Unfinished(key)
	revision, err := k.opts.Store.Put(ctx, key, k.opts.Self, revision)
	if errors.Is(err, ErrConflict) {
		h, now, found, unread := k.opts.Store.Get(ctx, key)
		switch {
		case unread != nil:
			err = unread
		case found && h.Frontend != k.opts.Self.Frontend:
			log.Error("a key of an unfinished job has another home; it lapsed while this frontend was away, and a job may run twice", "job", key, "home", h.Frontend)
			k.drop(key)
			return
		default:
			revision, err = k.opts.Store.Put(ctx, key, k.opts.Self, now)
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("a key was not renewed; it is tried again", "job", key, "error", err)
		}
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if last && k.accepting[key] == 0 {
		delete(k.held, key)
		return
	}
	k.held[key] = revision
}
