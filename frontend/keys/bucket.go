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

	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// MaxBytes bounds the bucket, to some half a million keys.
const MaxBytes = 128 << 20

// Home is the frontend that may accept a job under a key.
type Home struct {
	// Frontend is its name. An earlier version, which took over keys whose home did not know the
	// job, has it under another name: it leaves alone what it cannot read.
	Frontend string `json:"home"`
	Address  string `json:"address"` // where it served when it wrote this
}

// ErrConflict is returned by a [Store] that refused a write because the newest revision is not
// the one that the write named.
var ErrConflict = errors.New("the home of the key was changed meanwhile")

// Store keeps the homes of keys. A write that returned another error than ErrConflict may have
// been carried out, or be carried out later.
type Store interface {
	// Get returns the home of a key, and revision 0 when it has none.
	Get(ctx context.Context, key string) (h Home, revision uint64, err error)
	// Put replaces the home if after is its newest revision, and creates it if after is 0 and
	// there is none.
	Put(ctx context.Context, key string, h Home, after uint64) error
}

// bucket is the store in JetStream.
type bucket struct {
	kv       jetstream.KeyValue
	lifetime time.Duration
}

// Open returns the cluster's bucket of keys, which lapse when they were not written for the
// lifetime.
func Open(ctx context.Context, servers *jetstore.Store, lifetime time.Duration) (Store, error) {
	kv, err := servers.Bucket(ctx, "keys", "which frontend has the job of an idempotency key", lifetime, MaxBytes)
	if err != nil {
		return nil, err
	}
	return bucket{kv, lifetime}, nil
}

// name returns the name of a key in the bucket, where fewer characters are allowed than in
// keys.
func name(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// Get implements [Store].
func (b bucket) Get(ctx context.Context, key string) (Home, uint64, error) {
	e, err := b.kv.Get(ctx, name(key))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Home{}, 0, nil
	}
	if err != nil {
		return Home{}, 0, err
	}
	h, err := decode(e.Value())
	if err != nil {
		return Home{}, 0, fmt.Errorf("the key %s of the bucket %s: %w", e.Key(), e.Bucket(), err)
	}
	return h, e.Revision(), nil
}

func decode(value []byte) (Home, error) {
	var record struct {
		Home
		Former string `json:"frontend"` // the name, of an earlier version
	}
	err := json.Unmarshal(value, &record)
	if record.Frontend == "" {
		record.Frontend = record.Former
	}
	return record.Home, err
}

// Put implements [Store].
func (b bucket) Put(ctx context.Context, key string, h Home, after uint64) error {
	value, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if after == 0 {
		_, err = b.kv.Create(ctx, name(key), value)
	} else {
		_, err = b.kv.Update(ctx, name(key), value, after)
	}
	switch {
	case jetstore.IsConflict(err):
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case jetstore.OutOfSpace(err):
		return bucketFull(b.kv.Bucket(), b.lifetime, err)
	}
	return err
}
