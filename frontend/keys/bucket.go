package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// MaxBytes bounds the bucket, to some half a million keys.
const MaxBytes = 128 << 20

// bucket is the store in JetStream.
type bucket struct {
	kv       jetstream.KeyValue
	servers  *jetstore.Store
	lifetime time.Duration
}

// Open returns the cluster's bucket of keys, which lapse when they were not written for the
// lifetime.
func Open(ctx context.Context, servers *jetstore.Store, lifetime time.Duration) (Store, error) {
	kv, err := servers.Bucket(ctx, "keys", "which frontend has the job of an idempotency key", lifetime, MaxBytes)
	if err != nil {
		return nil, err
	}
	return bucket{kv, servers, lifetime}, nil
}

// name returns the name of a key in the bucket, where fewer characters are allowed than in
// keys.
func name(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// Get implements [Store].
func (b bucket) Get(ctx context.Context, key string) (h Home, revision uint64, found bool, err error) {
	e, err := b.kv.Get(ctx, name(key))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return h, 0, false, nil
	}
	if err != nil {
		return h, 0, false, err
	}
	if err := json.Unmarshal(e.Value(), &h); err != nil {
		return h, 0, false, fmt.Errorf("the key %s of the bucket %s: %w", e.Key(), e.Bucket(), err)
	}
	return h, e.Revision(), true, nil
}

// Put implements [Store].
func (b bucket) Put(ctx context.Context, key string, h Home, after uint64) (revision uint64, err error) {
	value, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	if after == 0 {
		revision, err = b.kv.Create(ctx, name(key), value)
	} else {
		revision, err = b.kv.Update(ctx, name(key), value, after)
	}
	switch {
	case jetstore.IsConflict(err):
		return 0, fmt.Errorf("%w: %w", ErrConflict, err)
	case jetstore.OutOfSpace(err):
		return 0, &api.Error{Problem: api.Busy, Subject: "bucket " + b.kv.Bucket(), What: fmt.Sprintf("there is no room for another key (%v; its limit is %d bytes)", err, int64(MaxBytes)),
			Tried: "accepting a job under an idempotency key; nothing was accepted", Next: fmt.Sprintf("submit jobs without a key of your own, or wait: a key is kept for %v after its job has ended", b.lifetime), RetryAfter: time.Minute}
	}
	return revision, err
}
